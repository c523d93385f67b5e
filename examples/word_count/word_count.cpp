// SPDX-License-Identifier: BSD-3-Clause
/// @file word_count.cpp
/// The most frequent words of text files. A future for each file that is read; a parallel reduction over the
/// pieces of the texts. See README.md.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <ios>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ws_pool.hpp>

using Counts = std::unordered_map<std::string_view, std::uint64_t>;

static const std::size_t piece_bytes = 64 * 1024;
static const std::size_t generated_words = 2000000;

static bool is_letter(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// @throws std::system_error  the file cannot be read; its text names the file
static std::string read_file(const std::string &name)
{
  errno = 0;
  std::ifstream file(name, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.is_open() || file.bad())
    throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(), name);
  return text;
}

/// Few frequent words and many rare ones, the same in each run.
static std::string generate()
{
  std::string text;
  std::uint64_t random = 1;
  for (std::size_t i = 0; i < generated_words; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    std::uint64_t rank = (random >> 33) % 1000 * ((random >> 48) % 1000) / 1000;
    do
      text += static_cast<char>('a' + rank % 26);
    while ((rank /= 26) > 0);
    text += ' ';
  }
  return text;
}

/// Cut each text into pieces that end between two words.
static std::vector<std::string_view> cut(const std::vector<std::string> &texts)
{
  std::vector<std::string_view> pieces;
  for (std::string_view rest : texts)
    while (!rest.empty()) {
      std::size_t end = std::min(piece_bytes, rest.size());
      while (end < rest.size() && is_letter(rest[end]))
        end++;
      pieces.push_back(rest.substr(0, end));
      rest.remove_prefix(end);
    }
  return pieces;
}

static Counts count(std::string_view piece)
{
  Counts counts;
  for (std::size_t i = 0; i < piece.size(); i++) {
    const std::size_t begin = i;
    while (i < piece.size() && is_letter(piece[i]))
      i++;
    if (i > begin)
      counts[piece.substr(begin, i - begin)]++;
  }
  return counts;
}

static Counts merge(Counts left, Counts right)
{
  if (left.size() < right.size())
    left.swap(right);
  for (const auto &[word, times] : right)
    left[word] += times;
  return left;
}

static void print(const Counts &counts)
{
  std::vector<std::pair<std::string_view, std::uint64_t>> rows(counts.begin(), counts.end());
  std::sort(rows.begin(), rows.end(), [](const auto &left, const auto &right) {
    return left.second != right.second ? left.second > right.second : left.first < right.first;
  });
  for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), 10); i++)
    std::printf("%8llu %.*s\n", static_cast<unsigned long long>(rows[i].second),
                static_cast<int>(rows[i].first.size()), rows[i].first.data());
}

/// @throws std::system_error  a file cannot be read
static int run(const std::vector<std::string> &files, bool check)
{
  ws_settings_t settings; // default: a worker for each CPU
  ws_settings_default(&settings);
  ws::pool pool(settings);

  std::vector<ws::future<std::string>> reading;
  for (const std::string &file : files)
    reading.push_back(pool.submit([&file] { return read_file(file); }));
  std::vector<std::string> texts;
  for (ws::future<std::string> &text : reading)
    texts.push_back(text.get()); // throws what read_file() has thrown
  if (files.empty())
    texts.push_back(generate());

  const std::vector<std::string_view> pieces = cut(texts);
  const auto count_piece = [&pieces](std::size_t i) { return count(pieces[i]); };
  const Counts counts =
      ws::parallel_reduce(pool, std::size_t{0}, pieces.size(), Counts(), count_piece, merge);
  print(counts);
  if (!check)
    return 0;
  Counts serial;
  for (const std::string &text : texts)
    serial = merge(std::move(serial), count(text));
  const bool equal = serial == counts;
  std::printf("check: %zu words in %zu pieces, %s\n", serial.size(), pieces.size(),
              equal ? "as counted one by one" : "NOT as counted one by one");
  return equal ? 0 : 1;
}

int main(int argc, char **argv)
{
  bool check = false;
  std::vector<std::string> files;
  for (int i = 1; i < argc; i++) {
    const std::string argument = argv[i];
    if (argument == "--check") {
      check = true;
    } else if (argument.rfind("--", 0) == 0) {
      std::fprintf(stderr, "word_count: unknown option %s; usage: word_count [--check] [FILE...]\n", argv[i]);
      return 2;
    } else {
      files.push_back(argument);
    }
  }
  try {
    return run(files, check);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "word_count: %s\n", error.what());
    return 1;
  }
}
