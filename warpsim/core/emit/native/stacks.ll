; Runs code whose frame is large: on this thread if its stack has room, else on a thread made for the call.

@key = internal global i32 0  ; under which each thread keeps the lowest address of its stack

declare i32 @pthread_key_create(ptr, ptr)
declare ptr @pthread_getspecific(i32)
declare i32 @pthread_setspecific(i32, ptr)
declare i64 @pthread_self()
declare i32 @pthread_getattr_np(i64, ptr)
declare i32 @pthread_attr_getstack(ptr, ptr, ptr)
declare i32 @pthread_attr_getguardsize(ptr, ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare ptr @llvm.frameaddress.p0(i32)

; A call: function, block, begin, end, flags.
%Call = type { ptr, ptr, i64, i64, i64 }

; Once for the process, before the first call: 0 if it worked.
define i32 @ws_prepare_stacks() {
  %status = call i32 @pthread_key_create(ptr @key, ptr null)
  ret i32 %status
}

; Where the stack of this thread ends; 1 where that is unknown, so that all is room.
define internal i64 @find_limit() noinline {
entry:
  %attributes = alloca [128 x i8], align 16
  %low = alloca i64
  %size = alloca i64
  %guard = alloca i64
  %self = call i64 @pthread_self()
  %unknown = call i32 @pthread_getattr_np(i64 %self, ptr %attributes)
  %known = icmp eq i32 %unknown, 0
  br i1 %known, label %read, label %nowhere
read:
  %a = call i32 @pthread_attr_getstack(ptr %attributes, ptr %low, ptr %size)
  %b = call i32 @pthread_attr_getguardsize(ptr %attributes, ptr %guard)
  %c = call i32 @pthread_attr_destroy(ptr %attributes)
  %lowest = load i64, ptr %low
  %closed = load i64, ptr %guard
  %found = add i64 %lowest, %closed  ; some libraries count the guard to the stack, some do not
  br label %keep
nowhere:
  br label %keep
keep:
  %limit = phi i64 [ %found, %read ], [ 1, %nowhere ]
  %word = inttoptr i64 %limit to ptr
  %key = load i32, ptr @key
  %d = call i32 @pthread_setspecific(i32 %key, ptr %word)
  ret i64 %limit
}

define void @warpsim_on_stack(ptr %function, ptr %block, i64 %begin, i64 %end, i64 %flags, i64 %bytes) {
entry:
  %key = load i32, ptr @key
  %kept = call ptr @pthread_getspecific(i32 %key)
  %word = ptrtoint ptr %kept to i64
  %is.kept = icmp ne i64 %word, 0
  br i1 %is.kept, label %ask, label %find
find:
  %found = call i64 @find_limit()
  br label %ask
ask:
  %limit = phi i64 [ %word, %entry ], [ %found, %find ]
  %frame = call ptr @llvm.frameaddress.p0(i32 0)
  %here = ptrtoint ptr %frame to i64
  %lowest = add i64 %limit, %bytes
  %fits = icmp ugt i64 %here, %lowest
  br i1 %fits, label %plain, label %elsewhere
plain:
  tail call void %function(ptr %block, i64 %begin, i64 %end, i64 %flags)
  ret void
elsewhere:
  call void @on_own_thread(ptr %function, ptr %block, i64 %begin, i64 %end, i64 %flags, i64 %bytes)
  ret void
}

define internal void @on_own_thread(ptr %function, ptr %block, i64 %begin, i64 %end, i64 %flags, i64 %bytes) noinline {
entry:
  %call = alloca %Call
  %thread = alloca i64
  %attributes = alloca [128 x i8], align 16
  store ptr %function, ptr %call
  %block.at = getelementptr %Call, ptr %call, i64 0, i32 1
  store ptr %block, ptr %block.at
  %begin.at = getelementptr %Call, ptr %call, i64 0, i32 2
  store i64 %begin, ptr %begin.at
  %end.at = getelementptr %Call, ptr %call, i64 0, i32 3
  store i64 %end, ptr %end.at
  %flags.at = getelementptr %Call, ptr %call, i64 0, i32 4
  store i64 %flags, ptr %flags.at
  %a = call i32 @pthread_attr_init(ptr %attributes)
  %more = add i64 %bytes, 327680  ; for what libraries keep of each thread on its stack
  %pages = and i64 %more, -65536
  %b = call i32 @pthread_attr_setstacksize(ptr %attributes, i64 %pages)
  %refused = call i32 @pthread_create(ptr %thread, ptr %attributes, ptr @run_call, ptr %call)
  %c = call i32 @pthread_attr_destroy(ptr %attributes)
  %there = icmp eq i32 %refused, 0
  br i1 %there, label %wait, label %here
wait:
  %number = load i64, ptr %thread
  %d = call i32 @pthread_join(i64 %number, ptr null)
  ret void
here:  ; the system allows no more threads: what is asked for is an estimate with room to spare
  call void %function(ptr %block, i64 %begin, i64 %end, i64 %flags)
  ret void
}

define internal ptr @run_call(ptr %call) {
  %function = load ptr, ptr %call
  %block.at = getelementptr %Call, ptr %call, i64 0, i32 1
  %block = load ptr, ptr %block.at
  %begin.at = getelementptr %Call, ptr %call, i64 0, i32 2
  %begin = load i64, ptr %begin.at
  %end.at = getelementptr %Call, ptr %call, i64 0, i32 3
  %end = load i64, ptr %end.at
  %flags.at = getelementptr %Call, ptr %call, i64 0, i32 4
  %flags = load i64, ptr %flags.at
  call void %function(ptr %block, i64 %begin, i64 %end, i64 %flags)
  ret ptr null
}
