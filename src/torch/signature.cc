#include "torch/signature.h"

#include <c10/core/MemoryFormat.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

#include "torch/op_traits.h"

namespace checkmate::torch {
namespace {

std::string type_text(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float:
      return "torch.float32";
    case c10::ScalarType::Double:
      return "torch.float64";
    case c10::ScalarType::Half:
      return "torch.float16";
    case c10::ScalarType::BFloat16:
      return "torch.bfloat16";
    case c10::ScalarType::Byte:
      return "torch.uint8";
    case c10::ScalarType::Char:
      return "torch.int8";
    case c10::ScalarType::Short:
      return "torch.int16";
    case c10::ScalarType::Int:
      return "torch.int32";
    case c10::ScalarType::Long:
      return "torch.int64";
    case c10::ScalarType::Bool:
      return "torch.bool";
    case c10::ScalarType::ComplexFloat:
      return "torch.complex64";
    case c10::ScalarType::ComplexDouble:
      return "torch.complex128";
    default:
      return fmt::format("torch.{}", c10::toString(type));
  }
}

std::string memory_format_text(c10::MemoryFormat format) {
  switch (format) {
    case c10::MemoryFormat::Contiguous:
      return "torch.contiguous_format";
    case c10::MemoryFormat::Preserve:
      return "torch.preserve_format";
    case c10::MemoryFormat::ChannelsLast:
      return "torch.channels_last";
    default:
      return "torch.channels_last_3d";
  }
}

const char* truth_text(bool truth) { return truth ? "True" : "False"; }

}  // namespace

std::string scalar_text(const at::Scalar& scalar) {
  if (scalar.isBoolean()) {
    return truth_text(scalar.toBool());
  }
  return scalar.isIntegral(false) ? fmt::format("{}", scalar.toLong()) : number_text(scalar.toDouble());
}

namespace {

/// An integer may stand for a type, a layout or a memory format.
std::string integer_text(std::int64_t number, const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::ScalarTypeType:
      return type_text(static_cast<c10::ScalarType>(number));
    case c10::TypeKind::LayoutType:
      return "torch.strided";
    case c10::TypeKind::MemoryFormatType:
      return memory_format_text(static_cast<c10::MemoryFormat>(number));
    default:
      return fmt::format("{}", number);
  }
}

const c10::Type& inner(const c10::Type& type) {
  return type.kind() == c10::TypeKind::OptionalType ? *type.containedType(0) : type;
}

std::string plain_text(const c10::IValue& value, const c10::Type& type) {
  if (value.isNone()) {
    return "None";
  }
  if (value.isBool()) {
    return truth_text(value.toBool());
  }
  if (value.isInt()) {
    return integer_text(value.toInt(), inner(type));
  }
  if (value.isDouble()) {
    return number_text(value.toDouble());
  }
  if (value.isString()) {
    return fmt::format("'{}'", value.toStringRef());
  }
  if (value.isDevice()) {
    return fmt::format("device(type='{}')", c10::DeviceTypeName(value.toDevice().type(), true));
  }
  if (value.isScalar()) {
    return scalar_text(value.toScalar());
  }
  if (value.isList()) {
    std::vector<std::string> items;
    for (const c10::IValue& item : value.toListRef()) {
      items.push_back(plain_text(item, c10::AnyType::get().operator*()));
    }
    return fmt::format("[{}]", fmt::join(items, ","));
  }
  return fmt::format("<{}>", value.tagKind());
}

bool is_default(const c10::Argument& argument, const c10::IValue& value) {
  const auto& standard = argument.default_value();
  if (!standard) {
    return false;
  }
  if (standard->isNone() || value.isNone()) {
    return standard->isNone() && value.isNone();
  }
  if (value.isTensor() || value.isTensorList() || value.isOptionalTensorList()) {
    return false;
  }
  return plain_text(*standard, *argument.real_type()) == plain_text(value, *argument.real_type());
}

}  // namespace

std::string number_text(double number) {
  if (std::isnan(number)) {
    return "nan";
  }
  if (std::isinf(number)) {
    return number < 0 ? "-inf" : "inf";
  }
  const double magnitude = std::abs(number);
  const bool exponent = magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e16);
  std::array<char, 512> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number,
                                 exponent ? std::chars_format::scientific : std::chars_format::fixed);
  std::string text(digits.data(), end.ptr);
  if (!exponent && text.find('.') == std::string::npos) {
    text += ".0";
  }
  return text;
}

bool is_number(const at::Tensor& tensor) { return tensor.unsafeGetTensorImpl()->is_wrapped_number(); }

std::string layout_text(const Layout& layout) {
  return fmt::format("{}[{}][{}]@cpu", type_text(layout.type), fmt::join(layout.sizes, ", "),
                     fmt::join(layout.strides, ", "));
}

std::vector<std::string> argument_texts(
    const c10::FunctionSchema& schema, const ::torch::jit::Stack& arguments,
    const std::function<std::string(std::uint32_t, std::optional<std::uint32_t>)>& tensor) {
  std::vector<std::string> positional;
  std::vector<std::string> named;
  std::size_t needed = 0;  // of the positional ones: trailing defaults are left out
  for (std::uint32_t i = 0; i < arguments.size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    const c10::IValue& value = arguments[i];
    const bool standard = is_default(argument, value);
    if (argument.kwarg_only() && standard) {
      continue;
    }
    std::string text;
    if (value.isTensor()) {
      text = tensor(i, std::nullopt);
    } else if (value.isTensorList() || value.isOptionalTensorList()) {
      std::vector<std::string> items;
      const std::size_t count = value.toListRef().size();
      for (std::uint32_t element = 0; element < count; ++element) {
        items.push_back(tensor(i, element));
      }
      text = fmt::format("[{}]", fmt::join(items, ","));
    } else {
      text = plain_text(value, *argument.real_type());
    }
    if (argument.kwarg_only()) {
      named.push_back(fmt::format("{}={}", argument.name(), text));
      continue;
    }
    positional.push_back(std::move(text));
    needed = standard ? needed : positional.size();
  }
  positional.resize(needed);
  std::sort(named.begin(), named.end());
  positional.insert(positional.end(), named.begin(), named.end());
  return positional;
}

std::string call_text(const c10::OperatorHandle& op, const ::torch::jit::Stack& arguments) {
  const auto tensor = [&](std::uint32_t position, std::optional<std::uint32_t> element) -> std::string {
    const c10::IValue& value = element ? arguments[position].toListRef()[*element] : arguments[position];
    if (!value.isTensor() || !value.toTensor().defined()) {
      return "None";
    }
    const at::Tensor& found = value.toTensor();
    return is_number(found) ? scalar_text(found.item()) : layout_text(Layout::of(found));
  };
  return fmt::format("{}({})", python_name(op),
                     fmt::join(argument_texts(op.schema(), arguments, tensor), ","));
}

}  // namespace checkmate::torch
