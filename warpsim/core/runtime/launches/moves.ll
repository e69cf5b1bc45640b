; Copying and clearing memory as launches with a thread for each byte, so that a list of launches need not stop for them.

; args: {target, source}, which do not overlap
define void @ws_copy_bytes(ptr %args, i64 %begin, i64 %end, i64 %flags) {
  %target = load ptr, ptr %args
  %source.at = getelementptr ptr, ptr %args, i64 1
  %source = load ptr, ptr %source.at
  %to = getelementptr i8, ptr %target, i64 %begin
  %from = getelementptr i8, ptr %source, i64 %begin
  %length = sub i64 %end, %begin
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %length, i1 false)
  ret void
}

; args: {target}
define void @ws_clear_bytes(ptr %args, i64 %begin, i64 %end, i64 %flags) {
  %target = load ptr, ptr %args
  %to = getelementptr i8, ptr %target, i64 %begin
  %length = sub i64 %end, %begin
  call void @llvm.memset.p0.i64(ptr %to, i8 0, i64 %length, i1 false)
  ret void
}
