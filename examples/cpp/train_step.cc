#include <checkmate/torch.h>

#include <iostream>

int main() {
  torch::nn::Sequential model;  // any module, and any function that makes a loss of it
  for (int i = 0; i < 8; ++i) model->push_back(torch::nn::Linear(256, 256));
  const auto loss_fn = [](auto& network, const torch::Tensor& x, const torch::Tensor& y) {
    return torch::mse_loss(network->forward(x), y);
  };
  const torch::Tensor x = torch::randn({512, 256});
  const torch::Tensor y = torch::randn({512, 256});

  auto step = checkmate::torch::compile(model, loss_fn, {x, y}, {.budget = "60%"});
  if (!step) {
    std::cerr << step.error().message << "\n";
    return 1;
  }
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  for (int i = 0; i < 3; ++i) {
    optimizer.zero_grad();
    const torch::Tensor loss = (*step)(x, y);  // in the place of loss_fn(model, x, y) and loss.backward()
    optimizer.step();
    std::cout << loss.item<float>() << "\n";
  }
  std::cout << step->plan() << "\n";
}
