; Kernels that tell the tests of the thread pool which chunks they were given, and when.

; args: {ptr log, i64 slot}; writes {begin, end, flags, calls} of the chunk to log[slot]
define void @record(ptr %args, i64 %begin, i64 %end, i64 %flags) {
  %log = load ptr, ptr %args
  %slot.at = getelementptr i64, ptr %args, i64 1
  %slot = load i64, ptr %slot.at
  %row = getelementptr [4 x i64], ptr %log, i64 %slot
  store i64 %begin, ptr %row
  %end.at = getelementptr i64, ptr %row, i64 1
  store i64 %end, ptr %end.at
  %flags.at = getelementptr i64, ptr %row, i64 2
  store i64 %flags, ptr %flags.at
  %calls.at = getelementptr i64, ptr %row, i64 3
  %calls = atomicrmw add ptr %calls.at, i64 1 monotonic
  ret void
}

; args: {ptr sum}; sum += begin + ... + end-1
define void @sum(ptr %args, i64 %begin, i64 %end, i64 %flags) {
entry:
  %sum = load ptr, ptr %args
  br label %next
next:
  %i = phi i64 [ %begin, %entry ], [ %following, %add ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %add, label %done
add:
  %before = atomicrmw add ptr %sum, i64 %i monotonic
  %following = add i64 %i, 1
  br label %next
done:
  ret void
}

; args: {ptr x}; x[i] = 3 * x[i] + 1: commands that run out of order give another value
define void @step(ptr %args, i64 %begin, i64 %end, i64 %flags) {
entry:
  %x = load ptr, ptr %args
  br label %next
next:
  %i = phi i64 [ %begin, %entry ], [ %following, %one ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %one, label %done
one:
  %at = getelementptr i64, ptr %x, i64 %i
  %v = load i64, ptr %at
  %v3 = mul i64 %v, 3
  %v31 = add i64 %v3, 1
  store i64 %v31, ptr %at
  %following = add i64 %i, 1
  br label %next
done:
  ret void
}

; args: {ptr arrived, i64 expected, i64 patience}; a chunk waits until `expected` chunks have begun,
; and gives up after `patience` looks. arrived[1] counts those that met the others.
define void @meet(ptr %args, i64 %begin, i64 %end, i64 %flags) {
entry:
  %arrived = load ptr, ptr %args
  %expected.at = getelementptr i64, ptr %args, i64 1
  %expected = load i64, ptr %expected.at
  %patience.at = getelementptr i64, ptr %args, i64 2
  %patience = load i64, ptr %patience.at
  %mine = atomicrmw add ptr %arrived, i64 1 seq_cst
  br label %wait
wait:
  %looks = phi i64 [ 0, %entry ], [ %looks1, %again ]
  %now = load atomic i64, ptr %arrived seq_cst, align 8
  %met = icmp sge i64 %now, %expected
  br i1 %met, label %success, label %again
again:
  %looks1 = add i64 %looks, 1
  %tired = icmp sgt i64 %looks1, %patience
  br i1 %tired, label %done, label %wait
success:
  %met.at = getelementptr i64, ptr %arrived, i64 1
  %count = atomicrmw add ptr %met.at, i64 1 seq_cst
  br label %done
done:
  ret void
}
