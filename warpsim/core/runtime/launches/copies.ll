; Sums in private copies: a chunk clears its copy where it runs, so that it is in the cache of that core, and once all
; chunks are through the copies are added to the array, in their order, by all cores.

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; A chunk with memory of its own, in which the arrays begin at offsets; the first chunk has the arrays themselves.
; args: {kernel, args of the kernel, bytes of these, memory of the second chunk, bytes of a chunk's memory, threads of a
; chunk, number of arrays, {word of the kernel's args that points at the array, offset}...}
define void @ws_into_copy(ptr %args, i64 %begin, i64 %end, i64 %flags) {
entry:
  %kernel = load ptr, ptr %args
  %block.at = getelementptr i64, ptr %args, i64 1
  %block = load ptr, ptr %block.at
  %bytes.at = getelementptr i64, ptr %args, i64 2
  %bytes = load i64, ptr %bytes.at
  %memory.at = getelementptr i64, ptr %args, i64 3
  %memory = load ptr, ptr %memory.at
  %size.at = getelementptr i64, ptr %args, i64 4
  %size = load i64, ptr %size.at
  %threads.at = getelementptr i64, ptr %args, i64 5
  %threads = load i64, ptr %threads.at
  %count.at = getelementptr i64, ptr %args, i64 6
  %count = load i64, ptr %count.at
  %arrays = getelementptr i64, ptr %args, i64 7
  %chunk = udiv i64 %begin, %threads
  %first = icmp eq i64 %chunk, 0
  br i1 %first, label %plain, label %copied
plain:
  call void %kernel(ptr %block, i64 %begin, i64 %end, i64 %flags)
  ret void
copied:
  %own = alloca i8, i64 %bytes, align 16
  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %own, ptr %block, i64 %bytes, i1 false)
  %before = sub i64 %chunk, 1
  %distance = mul i64 %before, %size
  %mine = getelementptr i8, ptr %memory, i64 %distance
  call void @llvm.memset.p0.i64(ptr %mine, i8 0, i64 %size, i1 false)
  br label %next
next:
  %k = phi i64 [ 0, %copied ], [ %k.next, %point ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %point, label %run
point:
  %word.at = getelementptr { i64, i64 }, ptr %arrays, i64 %k, i32 0
  %word = load i64, ptr %word.at
  %offset.at = getelementptr { i64, i64 }, ptr %arrays, i64 %k, i32 1
  %offset = load i64, ptr %offset.at
  %array = getelementptr i8, ptr %mine, i64 %offset
  %place = getelementptr ptr, ptr %own, i64 %word
  store ptr %array, ptr %place
  %k.next = add i64 %k, 1
  br label %next
run:
  call void %kernel(ptr %own, i64 %begin, i64 %end, i64 %flags)
  ret void
}

; target[i] += the copies of element i, one after the other. args: {target, first copy, bytes from one to the next,
; number of copies}, of float32:
define void @ws_add_copies_f32(ptr %args, i64 %begin, i64 %end, i64 %flags) {
entry:
  %target = load ptr, ptr %args
  %copies.at = getelementptr ptr, ptr %args, i64 1
  %copies = load ptr, ptr %copies.at
  %step.at = getelementptr i64, ptr %args, i64 2
  %step = load i64, ptr %step.at
  %count.at = getelementptr i64, ptr %args, i64 3
  %count = load i64, ptr %count.at
  br label %next
next:
  %i = phi i64 [ %begin, %entry ], [ %beyond, %strip.done ], [ %following, %single.done ]
  %place = getelementptr float, ptr %target, i64 %i
  %first = getelementptr float, ptr %copies, i64 %i
  %beyond = add i64 %i, 16
  %whole = icmp sle i64 %beyond, %end
  br i1 %whole, label %strip, label %rest
rest:
  %more = icmp slt i64 %i, %end
  br i1 %more, label %single, label %done

strip:
  %old = load <16 x float>, ptr %place, align 4
  br label %strip.add
strip.add:
  %k = phi i64 [ 0, %strip ], [ %k.next, %strip.add ]
  %sum = phi <16 x float> [ %old, %strip ], [ %sum.next, %strip.add ]
  %offset = mul i64 %k, %step
  %copy = getelementptr i8, ptr %first, i64 %offset
  %part = load <16 x float>, ptr %copy, align 4
  %sum.next = fadd <16 x float> %sum, %part
  %k.next = add i64 %k, 1
  %again = icmp slt i64 %k.next, %count
  br i1 %again, label %strip.add, label %strip.done
strip.done:
  store <16 x float> %sum.next, ptr %place, align 4
  br label %next

single:
  %one.old = load float, ptr %place
  br label %single.add
single.add:
  %j = phi i64 [ 0, %single ], [ %j.next, %single.add ]
  %one = phi float [ %one.old, %single ], [ %one.next, %single.add ]
  %one.offset = mul i64 %j, %step
  %one.copy = getelementptr i8, ptr %first, i64 %one.offset
  %one.part = load float, ptr %one.copy
  %one.next = fadd float %one, %one.part
  %j.next = add i64 %j, 1
  %one.again = icmp slt i64 %j.next, %count
  br i1 %one.again, label %single.add, label %single.done
single.done:
  store float %one.next, ptr %place
  %following = add i64 %i, 1
  br label %next
done:
  ret void
}

; The same of float64:
define void @ws_add_copies_f64(ptr %args, i64 %begin, i64 %end, i64 %flags) {
entry:
  %target = load ptr, ptr %args
  %copies.at = getelementptr ptr, ptr %args, i64 1
  %copies = load ptr, ptr %copies.at
  %step.at = getelementptr i64, ptr %args, i64 2
  %step = load i64, ptr %step.at
  %count.at = getelementptr i64, ptr %args, i64 3
  %count = load i64, ptr %count.at
  br label %next
next:
  %i = phi i64 [ %begin, %entry ], [ %beyond, %strip.done ], [ %following, %single.done ]
  %place = getelementptr double, ptr %target, i64 %i
  %first = getelementptr double, ptr %copies, i64 %i
  %beyond = add i64 %i, 8
  %whole = icmp sle i64 %beyond, %end
  br i1 %whole, label %strip, label %rest
rest:
  %more = icmp slt i64 %i, %end
  br i1 %more, label %single, label %done

strip:
  %old = load <8 x double>, ptr %place, align 8
  br label %strip.add
strip.add:
  %k = phi i64 [ 0, %strip ], [ %k.next, %strip.add ]
  %sum = phi <8 x double> [ %old, %strip ], [ %sum.next, %strip.add ]
  %offset = mul i64 %k, %step
  %copy = getelementptr i8, ptr %first, i64 %offset
  %part = load <8 x double>, ptr %copy, align 8
  %sum.next = fadd <8 x double> %sum, %part
  %k.next = add i64 %k, 1
  %again = icmp slt i64 %k.next, %count
  br i1 %again, label %strip.add, label %strip.done
strip.done:
  store <8 x double> %sum.next, ptr %place, align 8
  br label %next

single:
  %one.old = load double, ptr %place
  br label %single.add
single.add:
  %j = phi i64 [ 0, %single ], [ %j.next, %single.add ]
  %one = phi double [ %one.old, %single ], [ %one.next, %single.add ]
  %one.offset = mul i64 %j, %step
  %one.copy = getelementptr i8, ptr %first, i64 %one.offset
  %one.part = load double, ptr %one.copy
  %one.next = fadd double %one, %one.part
  %j.next = add i64 %j, 1
  %one.again = icmp slt i64 %j.next, %count
  br i1 %one.again, label %single.add, label %single.done
single.done:
  store double %one.next, ptr %place
  %following = add i64 %i, 1
  br label %next
done:
  ret void
}
