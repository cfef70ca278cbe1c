#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#pragma GCC visibility push(default)
namespace checkmate {

enum class ErrorCode {
  kInvalidArgument,  ///< an option, a budget or a name that the caller wrote is wrong
  kInvalidFile,      ///< a file's text is not what its format asks for
  kInvalidGraph,     ///< ops and tensors contradict one another
  kInvalidPlan,      ///< the plan cannot run on this graph
  kIo,               ///< the operating system refused: no such file, no permission, a full disk
  kTooLarge,         ///< past a limit that keeps memory bounded, or past the memory that there is
  kInternal,         ///< a bug of ours: the message says which invariant broke
};

/// What the caller could have avoided. The message is one line: where, what is wrong and, where known, what
/// would be right.
struct Error {
  ErrorCode code;
  std::string message;

  /// The same error with the place where it was found in front: `place: message`.
  Error at(std::string_view place) const { return {code, std::string(place) + ": " + message}; }
};

/// Throws std::runtime_error with the error's message; that ends a program built without exceptions.
[[noreturn]] void raise(const Error& error);

/// A value or an Error, with the member names of std::expected. value() on an error is raise().
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return require(), *std::get_if<0>(&state_); }
  const T& value() const& { return require(), *std::get_if<0>(&state_); }
  T&& value() && { return require(), std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// Only on a Result without a value.
  const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  void require() const {
    if (!has_value()) raise(error());
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() : error_{ErrorCode::kInvalidArgument, ""} {}
  Result(Error error) : error_(std::move(error)), failed_(true) {}

  bool has_value() const { return !failed_; }
  explicit operator bool() const { return has_value(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
  bool failed_ = false;
};

}  // namespace checkmate
#pragma GCC visibility pop
