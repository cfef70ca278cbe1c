# TorchCore::torch: LibTorch's headers and libraries of PyTorch's package, without what CUDA, protobuf and Python add to its own
# package file. TorchCore::python adds what extensions of Python need. TorchCore_MINOR is such as 2.13.
file(GLOB _torch_venv ${CMAKE_CURRENT_LIST_DIR}/../.venv/lib/python3*/site-packages/torch)
find_path(TorchCore_DIR version.py HINTS ${_torch_venv} NO_DEFAULT_PATH)
find_library(TorchCore_C10 c10 HINTS ${TorchCore_DIR}/lib NO_DEFAULT_PATH)
find_library(TorchCore_CPU torch_cpu HINTS ${TorchCore_DIR}/lib NO_DEFAULT_PATH)
find_library(TorchCore_PYTHON torch_python HINTS ${TorchCore_DIR}/lib NO_DEFAULT_PATH)
if(TorchCore_DIR)
  file(STRINGS ${TorchCore_DIR}/version.py _torch_version REGEX "^__version__")
  string(REGEX MATCH "[0-9]+[.][0-9]+" TorchCore_MINOR "${_torch_version}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TorchCore REQUIRED_VARS TorchCore_DIR TorchCore_C10 TorchCore_CPU TorchCore_PYTHON
  REASON_FAILURE_MESSAGE "run `make setup-demo`, which installs PyTorch into .venv, or set TorchCore_DIR to its folder")
if(TorchCore_FOUND AND NOT TARGET TorchCore::torch)
  add_library(TorchCore::torch INTERFACE IMPORTED)
  target_include_directories(TorchCore::torch SYSTEM INTERFACE ${TorchCore_DIR}/include)
  target_link_libraries(TorchCore::torch INTERFACE ${TorchCore_CPU} ${TorchCore_C10})
  add_library(TorchCore::python INTERFACE IMPORTED)
  target_include_directories(TorchCore::python SYSTEM INTERFACE ${TorchCore_DIR}/include/torch/csrc/api/include)
  target_link_libraries(TorchCore::python INTERFACE TorchCore::torch ${TorchCore_PYTHON})
endif()
mark_as_advanced(TorchCore_DIR TorchCore_C10 TorchCore_CPU TorchCore_PYTHON)
