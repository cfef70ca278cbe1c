#include "torch/interception.h"

#include <ATen/core/boxing/KernelFunction.h>

namespace checkmate::torch {
namespace {

// Directly below autograd, and unused but by torch.func, which no step runs under.
constexpr c10::DispatchKey kKey = c10::DispatchKey::FuncTorchDynamicLayerBackMode;

thread_local Interceptor* interceptor_of_thread = nullptr;

std::mutex& capturing() {
  static std::mutex mutex;
  return mutex;
}

void intercept(const c10::OperatorHandle& op, c10::DispatchKeySet keys, ::torch::jit::Stack* stack) {
  const c10::DispatchKeySet below = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey);
  if (interceptor_of_thread == nullptr) {
    const c10::impl::ExcludeDispatchKeyGuard once(kKey);
    op.redispatchBoxed(below, stack);
    return;
  }
  // Most composite ops came apart above. What did not comes apart here, and its parts come by one by one; but
  // for those that have a kernel of their own on the processor, which rounds otherwise.
  if (op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
      !op.hasKernelForDispatchKey(c10::DispatchKey::CPU)) {
    op.callBoxedForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd, *stack);
    return;
  }
  const c10::impl::ExcludeDispatchKeyGuard once(kKey);
  interceptor_of_thread->run(op, below, stack);
}

std::vector<c10::RegistrationHandleRAII> register_all() {
  auto& dispatcher = c10::Dispatcher::singleton();
  std::vector<c10::RegistrationHandleRAII> kernels;
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findOp(name);
    if (!op || !op->hasSchema() || op->hasKernelForDispatchKey(kKey)) {
      continue;
    }
    kernels.push_back(dispatcher.registerImpl(name, kKey,
                                              c10::KernelFunction::makeFromBoxedFunction<&intercept>(),
                                              std::nullopt, nullptr, "checkmate"));
  }
  return kernels;
}

}  // namespace

Interception::Interception(Interceptor& interceptor)
    : alone_(capturing()), kernels_(register_all()), included_(kKey) {
  interceptor_of_thread = &interceptor;
}

Interception::~Interception() { interceptor_of_thread = nullptr; }

}  // namespace checkmate::torch
