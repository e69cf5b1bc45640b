; What other frameworks call when they are done with memory of ours. dlpack.py compiles this once per process.
;
; Consumers call a deleter from any thread, with or without the GIL, with or without an exception pending, even
; after Python has ended: so these are functions of machine code, and none of them is Python.

declare i32 @Py_IsInitialized()
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare void @Py_DecRef(ptr)
declare void @PyMem_RawFree(ptr)
declare i32 @PyCapsule_IsValid(ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)

@legacy = constant [9 x i8] c"dltensor\00"
@versioned = constant [19 x i8] c"dltensor_versioned\00"

; Let go of the Python object at `owner.at` in a block, then of the block. Without Python, memory goes with the process.
define internal void @release(ptr %block, i64 %owner.at) {
  %alive = call i32 @Py_IsInitialized()
  %gone = icmp eq i32 %alive, 0
  br i1 %gone, label %done, label %free
free:
  %state = call i32 @PyGILState_Ensure()
  %slot = getelementptr i8, ptr %block, i64 %owner.at
  %owner = load ptr, ptr %slot
  call void @PyMem_RawFree(ptr %block)
  call void @Py_DecRef(ptr %owner)
  call void @PyGILState_Release(i32 %state)
  br label %done
done:
  ret void
}

; Deleters of DLManagedTensor and DLManagedTensorVersioned, whose field manager_ctx is the owner.
define void @delete_legacy(ptr %tensor) {
  call void @release(ptr %tensor, i64 48)
  ret void
}

define void @delete_versioned(ptr %tensor) {
  call void @release(ptr %tensor, i64 8)
  ret void
}

; The destructor of a capsule. A consumer that took the tensor has renamed the capsule, and calls the deleter itself.
define void @drop(ptr %capsule) {
  %is.legacy = call i32 @PyCapsule_IsValid(ptr %capsule, ptr @legacy)
  %first = icmp ne i32 %is.legacy, 0
  br i1 %first, label %one, label %other
one:
  %tensor = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr @legacy)
  call void @delete_legacy(ptr %tensor)
  ret void
other:
  %is.versioned = call i32 @PyCapsule_IsValid(ptr %capsule, ptr @versioned)
  %second = icmp ne i32 %is.versioned, 0
  br i1 %second, label %two, label %taken
two:
  %newer = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr @versioned)
  call void @delete_versioned(ptr %newer)
  ret void
taken:
  ret void
}
