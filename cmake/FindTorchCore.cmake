# TorchCore::torch: LibTorch's headers and libraries, of PyTorch's package or of LibTorch's archive, without what CUDA, protobuf and
# Python add to its own package file. TorchCore::api adds the C++ front end, torch/torch.h. TorchCore::python adds what extensions
# of Python need, where there is that. TorchCore_MINOR is such as 2.13. TorchCore_DIR is the folder that has `include` and `lib`.
file(GLOB _torch_venv ${CMAKE_CURRENT_LIST_DIR}/../.venv/lib/python3*/site-packages/torch)
set(_torch_version_header include/torch/headeronly/version.h)
find_path(TorchCore_DIR ${_torch_version_header} HINTS ${TORCH_INSTALL_PREFIX} ${Torch_DIR}/../../.. ${_torch_venv}
  PATH_SUFFIXES ../..)
find_library(TorchCore_C10 c10 HINTS ${TorchCore_DIR}/lib NO_DEFAULT_PATH)
find_library(TorchCore_CPU torch_cpu HINTS ${TorchCore_DIR}/lib NO_DEFAULT_PATH)
find_library(TorchCore_PYTHON torch_python HINTS ${TorchCore_DIR}/lib NO_DEFAULT_PATH)
if(TorchCore_DIR)
  file(STRINGS ${TorchCore_DIR}/${_torch_version_header} _torch_version REGEX "define TORCH_VERSION_(MAJOR|MINOR)")
  string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*" "\\1.\\2" TorchCore_MINOR "${_torch_version}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TorchCore REQUIRED_VARS TorchCore_DIR TorchCore_C10 TorchCore_CPU
  REASON_FAILURE_MESSAGE "run `make setup-demo`, which installs PyTorch into .venv, or set TorchCore_DIR to LibTorch's folder")
if(TorchCore_FOUND AND NOT TARGET TorchCore::torch)
  add_library(TorchCore::torch INTERFACE IMPORTED)
  target_include_directories(TorchCore::torch SYSTEM INTERFACE ${TorchCore_DIR}/include)
  target_link_libraries(TorchCore::torch INTERFACE ${TorchCore_CPU} ${TorchCore_C10})
  add_library(TorchCore::api INTERFACE IMPORTED)
  target_include_directories(TorchCore::api SYSTEM INTERFACE ${TorchCore_DIR}/include/torch/csrc/api/include)
  target_link_libraries(TorchCore::api INTERFACE TorchCore::torch)
  if(TorchCore_PYTHON)
    add_library(TorchCore::python INTERFACE IMPORTED)
    target_link_libraries(TorchCore::python INTERFACE TorchCore::api ${TorchCore_PYTHON})
  endif()
endif()
mark_as_advanced(TorchCore_DIR TorchCore_C10 TorchCore_CPU TorchCore_PYTHON)
