; The handler of the typed FFI of XLA that runs kernels without Python.
;
; A call names its plan by a number and a digest (an array attribute). A plan is a list of steps over the buffers of the
; call and memory of its own, which holds argument blocks and commands for the pool; see jax_steps.py for its words.
; Offsets in the structs of XLA are those of version 0 of its C interface.

@table = internal global ptr null
@threads = internal global ptr null
@run = internal global ptr null

@unknown = private constant [71 x i8] c"warpsim: this program was compiled by another process, compile it anew\00"

declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; table: 2^20 addresses of plans; threads: how many a launch may use, as the pool keeps it; run: ws_run of the pool.
define void @ws_ffi_setup(ptr %table, ptr %threads, ptr %run) {
  store ptr %table, ptr @table
  store ptr %threads, ptr @threads
  store ptr %run, ptr @run
  ret void
}

; Where an operand of a step lies in round `i`: in an argument (kind 0), a result (1) or the plan's own memory (2).
define internal ptr @operand(ptr %frame, ptr %step, i64 %first, i64 %i, ptr %local) alwaysinline {
entry:
  %kind.at = getelementptr i64, ptr %step, i64 %first
  %kind = load i64, ptr %kind.at
  %index.at = getelementptr i64, ptr %kind.at, i64 1
  %index = load i64, ptr %index.at
  %stride.at = getelementptr i64, ptr %kind.at, i64 2
  %stride = load i64, ptr %stride.at
  %moved = mul i64 %stride, %i
  %is.local = icmp eq i64 %kind, 2
  br i1 %is.local, label %own, label %buffer
own:
  %at = add i64 %index, %moved
  %place = getelementptr i8, ptr %local, i64 %at
  ret ptr %place
buffer:
  %is.result = icmp eq i64 %kind, 1
  %list.offset = select i1 %is.result, i64 112, i64 72
  %list.at = getelementptr i8, ptr %frame, i64 %list.offset
  %list = load ptr, ptr %list.at
  %buffer.at = getelementptr ptr, ptr %list, i64 %index
  %found = load ptr, ptr %buffer.at
  %data.at = getelementptr i8, ptr %found, i64 24
  %data = load ptr, ptr %data.at
  %element = getelementptr i8, ptr %data, i64 %moved
  ret ptr %element
}

; One step: op, operand (kind, index, stride), operand, bytes.
define internal void @take_step(ptr %frame, ptr %step, i64 %i, ptr %local) {
entry:
  %op = load i64, ptr %step
  %bytes.at = getelementptr i64, ptr %step, i64 7
  %bytes = load i64, ptr %bytes.at
  %target = call ptr @operand(ptr %frame, ptr %step, i64 1, i64 %i, ptr %local)
  switch i64 %op, label %done [ i64 0, label %point i64 1, label %copy i64 2, label %zero i64 3, label %launch ]
point:
  %address = call ptr @operand(ptr %frame, ptr %step, i64 4, i64 %i, ptr %local)
  store ptr %address, ptr %target
  br label %done
copy:
  %source = call ptr @operand(ptr %frame, ptr %step, i64 4, i64 %i, ptr %local)
  %same = icmp eq ptr %source, %target
  br i1 %same, label %done, label %move
move:
  call void @llvm.memmove.p0.p0.i64(ptr %target, ptr %source, i64 %bytes, i1 false)
  br label %done
zero:
  call void @llvm.memset.p0.i64(ptr %target, i8 0, i64 %bytes, i1 false)
  br label %done
launch:
  %function = load ptr, ptr @run
  %threads.at = load ptr, ptr @threads
  %threads = load atomic i64, ptr %threads.at monotonic, align 8
  call void %function(ptr %target, i64 1, i64 %threads)
  br label %done
done:
  ret void
}

; All steps of a plan, once for every member of the batch.
define internal void @follow(ptr %frame, ptr %plan) {
entry:
  %batch.at = getelementptr i64, ptr %plan, i64 1
  %batch = load i64, ptr %batch.at
  %count.at = getelementptr i64, ptr %plan, i64 2
  %count = load i64, ptr %count.at
  %block.at = getelementptr i64, ptr %plan, i64 3
  %block = load i64, ptr %block.at
  %total.at = getelementptr i64, ptr %plan, i64 4
  %total = load i64, ptr %total.at
  %local = call ptr @malloc(i64 %total)
  %steps = getelementptr i64, ptr %plan, i64 5
  %words = mul i64 %count, 8
  %template = getelementptr i64, ptr %steps, i64 %words
  call void @llvm.memcpy.p0.p0.i64(ptr %local, ptr %template, i64 %block, i1 false)
  br label %rounds
rounds:
  %i = phi i64 [ 0, %entry ], [ %i.next, %round.done ]
  %more.rounds = icmp slt i64 %i, %batch
  br i1 %more.rounds, label %round, label %finished
round:
  %k = phi i64 [ 0, %rounds ], [ %k.next, %step ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %step, label %round.done
step:
  %at = mul i64 %k, 8
  %here = getelementptr i64, ptr %steps, i64 %at
  call void @take_step(ptr %frame, ptr %here, i64 %i, ptr %local)
  %k.next = add i64 %k, 1
  br label %round
round.done:
  %i.next = add i64 %i, 1
  br label %rounds
finished:
  call void @free(ptr %local)
  ret void
}

; An error of XLA with a text.
define internal ptr @refuse(ptr %frame, ptr %text) {
  %args = alloca [4 x i64]
  store i64 32, ptr %args
  %extension = getelementptr i64, ptr %args, i64 1
  store i64 0, ptr %extension
  %message = getelementptr i64, ptr %args, i64 2
  store ptr %text, ptr %message
  %code = getelementptr i64, ptr %args, i64 3
  store i64 9, ptr %code
  %api.at = getelementptr i8, ptr %frame, i64 16
  %api = load ptr, ptr %api.at
  %create.at = getelementptr i8, ptr %api, i64 48
  %create = load ptr, ptr %create.at
  %error = call ptr %create(ptr %args)
  ret ptr %error
}

; What XLA asks when a handler is registered: the version of its interface that the handler was made for.
define internal void @describe(ptr %extension) {
  %metadata.at = getelementptr i8, ptr %extension, i64 24
  %metadata = load ptr, ptr %metadata.at
  %major = getelementptr i8, ptr %metadata, i64 24
  store i32 0, ptr %major
  %minor = getelementptr i8, ptr %metadata, i64 28
  store i32 1, ptr %minor
  %traits = getelementptr i8, ptr %metadata, i64 32
  store i32 0, ptr %traits
  ret void
}

define ptr @ws_ffi(ptr %frame) {
entry:
  %extension.at = getelementptr i8, ptr %frame, i64 8
  %extension = load ptr, ptr %extension.at
  %extended = icmp ne ptr %extension, null
  br i1 %extended, label %ask, label %stage
ask:
  %type.at = getelementptr i8, ptr %extension, i64 8
  %type = load i32, ptr %type.at
  %registers = icmp eq i32 %type, 1
  br i1 %registers, label %register, label %stage
register:
  call void @describe(ptr %extension)
  ret ptr null
stage:
  %stage.at = getelementptr i8, ptr %frame, i64 32
  %number = load i32, ptr %stage.at
  %executes = icmp eq i32 %number, 3
  br i1 %executes, label %execute, label %nothing
nothing:
  ret ptr null
execute:
  %attributes.at = getelementptr i8, ptr %frame, i64 160
  %attributes = load ptr, ptr %attributes.at
  %attribute = load ptr, ptr %attributes
  %values.at = getelementptr i8, ptr %attribute, i64 16
  %values = load ptr, ptr %values.at
  %index = load i64, ptr %values
  %digest.at = getelementptr i64, ptr %values, i64 1
  %digest = load i64, ptr %digest.at
  %table = load ptr, ptr @table
  %inside = icmp ult i64 %index, 1048576
  br i1 %inside, label %look, label %bad
look:
  %plan.at = getelementptr ptr, ptr %table, i64 %index
  %plan = load ptr, ptr %plan.at
  %there = icmp ne ptr %plan, null
  br i1 %there, label %compare, label %bad
compare:
  %own = load i64, ptr %plan
  %same = icmp eq i64 %own, %digest
  br i1 %same, label %go, label %bad
go:
  call void @follow(ptr %frame, ptr %plan)
  ret ptr null
bad:
  %error = call ptr @refuse(ptr %frame, ptr @unknown)
  ret ptr %error
}
