# Cairo::static, where it can be linked: cairo and what it needs to write files, as archives. A program with them inside runs where
# cairo and the twenty libraries behind it, most of them for windows, are not installed. The archives are not for shared libraries.
include(CheckCXXSourceCompiles)
get_filename_component(folder ${Cairo_LIBRARY} DIRECTORY)
set(static_cairo cairo fontconfig freetype pixman-1 png16 expat brotlidec brotlicommon uuid)
list(TRANSFORM static_cairo REPLACE "(.+)" "${folder}/lib\\1.a")
set(CMAKE_REQUIRED_LIBRARIES ${static_cairo} z m)
set(CMAKE_REQUIRED_INCLUDES ${Cairo_INCLUDE_DIR})
set(CMAKE_REQUIRED_QUIET ON)
check_cxx_source_compiles("
  #include <cairo-pdf.h>
  #include <cairo-svg.h>
  int main() {
    cairo_surface_t* page = cairo_pdf_surface_create_for_stream(nullptr, nullptr, 1, 1);
    cairo_show_text(cairo_create(page), cairo_status_to_string(cairo_surface_status(cairo_svg_surface_create(nullptr, 1, 1))));
    return cairo_surface_write_to_png(page, nullptr);
  }" CHECKMATE_LINKS_STATIC_CAIRO)
if(CHECKMATE_LINKS_STATIC_CAIRO)
  add_library(Cairo::static INTERFACE IMPORTED)
  target_link_libraries(Cairo::static INTERFACE ${CMAKE_REQUIRED_LIBRARIES})
else()
  set(static_cairo "")
endif()
unset(CMAKE_REQUIRED_LIBRARIES)
unset(CMAKE_REQUIRED_INCLUDES)
unset(CMAKE_REQUIRED_QUIET)
