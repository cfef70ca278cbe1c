#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <mutex>
#include <vector>

namespace checkmate::torch {

/// Sees each op that runs below autograd on a thread, in the place of its kernel.
class Interceptor {
 public:
  virtual ~Interceptor() = default;
  /// Takes the arguments from the stack and leaves the results there. Ops that it calls are not intercepted.
  virtual void run(const c10::OperatorHandle& op, c10::DispatchKeySet below, ::torch::jit::Stack* stack) = 0;
};

/// While it lives, the ops of this thread go to the interceptor. One at a time in the process: torch's table
/// of kernels is one. Other threads run ops as ever.
class Interception {
 public:
  explicit Interception(Interceptor& interceptor);
  ~Interception();
  Interception(const Interception&) = delete;
  Interception& operator=(const Interception&) = delete;

 private:
  std::unique_lock<std::mutex> alone_;
  std::vector<c10::RegistrationHandleRAII> kernels_;
  c10::impl::IncludeDispatchKeyGuard included_;
};

}  // namespace checkmate::torch
