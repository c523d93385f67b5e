// SPDX-License-Identifier: BSD-3-Clause
/// @file mandelbrot.cpp
/// A picture of the Mandelbrot set: ws::parallel_for over its rows, which Ctrl-C stops. See README.md.
#include <atomic>
#include <chrono>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <signal.h>

#include <ws_pool.hpp>

struct Options {
  int rows = 800;
  int stop_after = 0; ///< rows; 0 = not
  std::string file = "mandelbrot.pgm";
};

/// One byte a pixel, 3 columns for 2 rows.
struct Image {
  int rows, columns;
  std::vector<unsigned char> pixels;
  explicit Image(int height)
      : rows(height), columns(height * 3 / 2),
        pixels(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns))
  {
  }
};

static void draw_row(Image &image, int row)
{
  const auto columns = static_cast<std::size_t>(image.columns);
  unsigned char *pixel = &image.pixels[static_cast<std::size_t>(row) * columns];
  for (int column = 0; column < image.columns; column++) {
    const std::complex<double> c(3.0 * column / image.columns - 2.0, 2.0 * row / image.rows - 1.0);
    std::complex<double> z = 0;
    int steps = 0;
    while (steps < 255 && std::norm(z) < 4) {
      z = z * z + c;
      steps++;
    }
    pixel[column] = static_cast<unsigned char>(255 - steps);
  }
}

static bool write(const Image &image, const std::string &name)
{
  std::FILE *file = std::fopen(name.c_str(), "wb");
  if (!file) {
    std::perror(name.c_str());
    return false;
  }
  std::fprintf(file, "P5\n%d %d\n255\n", image.columns, image.rows);
  const bool whole = std::fwrite(image.pixels.data(), 1, image.pixels.size(), file) == image.pixels.size();
  if (std::fclose(file) == 0 && whole)
    return true;
  std::perror(name.c_str());
  return false;
}

/// Requests a stop when SIGINT comes. A thread waits for the signal, because a handler may do little.
class StopOnInterrupt {
 public:
  explicit StopOnInterrupt(ws::stop_source source)
  {
    sigemptyset(&interrupt_);
    sigaddset(&interrupt_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &interrupt_, nullptr); // before the pool: its threads inherit it
    thread_ = std::thread([this, source]() mutable {
      int received;
      sigwait(&interrupt_, &received);
      source.request_stop();
    });
  }
  ~StopOnInterrupt()
  {
    pthread_kill(thread_.native_handle(), SIGINT); // end the thread, if Ctrl-C has not
    thread_.join();
  }
  StopOnInterrupt(const StopOnInterrupt &) = delete;
  StopOnInterrupt &operator=(const StopOnInterrupt &) = delete;

 private:
  sigset_t interrupt_;
  std::thread thread_;
};

static double seconds_since(std::chrono::steady_clock::time_point begin)
{
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

static int run(const Options &options)
{
  ws::stop_source stop;
  StopOnInterrupt on_interrupt(stop);
  ws_settings_t settings; // default: a worker for each CPU
  ws_settings_default(&settings);
  ws::pool pool(settings);
  Image image(options.rows), serial(options.rows);
  std::atomic<int> drawn{0};

  auto begin = std::chrono::steady_clock::now();
  const auto body = [&](int row) {
    draw_row(image, row);
    if (++drawn == options.stop_after)
      stop.request_stop();
  };
  const bool whole = ws::parallel_for(pool, 0, options.rows, body, stop.get_token(), 1);
  const double parallel_s = seconds_since(begin);
  if (!write(image, options.file))
    return 1;
  if (!whole) {
    std::printf("stopped: %d of %d rows, %s\n", drawn.load(), options.rows, options.file.c_str());
    return 0;
  }
  begin = std::chrono::steady_clock::now();
  for (int row = 0; row < options.rows && !stop.stop_requested(); row++)
    draw_row(serial, row);
  const double serial_s = seconds_since(begin);
  if (stop.stop_requested()) {
    std::printf("stopped while the image was drawn again; %s has all rows\n", options.file.c_str());
    return 0;
  }
  const bool equal = serial.pixels == image.pixels;
  std::printf("%d of %d rows, %s: parallel %.3f s, serial %.3f s, %.2f times as fast; the images are %s\n",
              drawn.load(), options.rows, options.file.c_str(), parallel_s, serial_s, serial_s / parallel_s,
              equal ? "equal" : "DIFFERENT");
  return equal ? 0 : 1;
}

/// @return whether @p text is a number from 1 to 20000
static bool parse(const char *option, const char *text, int *number)
{
  char *end = nullptr;
  const long value = text ? std::strtol(text, &end, 10) : 0;
  if (text && *text && !*end && value >= 1 && value <= 20000) {
    *number = static_cast<int>(value);
    return true;
  }
  std::fprintf(stderr, "mandelbrot: %s %s: expected a number, 1 to 20000\n", option, text ? text : "");
  return false;
}

int main(int argc, char **argv)
{
  Options options;
  for (int i = 1; i < argc; i++) {
    const std::string argument = argv[i];
    if (argument == "--rows" || argument == "--stop-after") {
      int *number = argument == "--rows" ? &options.rows : &options.stop_after;
      if (!parse(argv[i], i + 1 < argc ? argv[i + 1] : nullptr, number))
        return 2;
      i++;
    } else if (argument.rfind("--", 0) == 0) {
      std::fprintf(stderr, "mandelbrot: unknown option %s; ", argv[i]);
      std::fprintf(stderr, "usage: mandelbrot [--rows N] [--stop-after N] [FILE]\n");
      return 2;
    } else {
      options.file = argument;
    }
  }
  return run(options);
}
