// SPDX-License-Identifier: BSD-3-Clause
// PMIx, as its standard lays out what is passed: the same from version 2 on.
#include <dlfcn.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "job/launcher.h"

namespace tutti::job {
namespace {

struct Process {
  char space[256];
  std::uint32_t rank;
};
struct Value {
  std::uint16_t type;
  union {
    char* string;
    int number;
    bool flag;
    std::uint64_t words[3];
  } data;
};
struct Info {
  char key[512];
  std::uint32_t flags;
  Value value;
};
static_assert(sizeof(Value) == 32 && sizeof(Info) == 552);

constexpr std::uint16_t type_bool = 1, type_string = 3, type_int = 6;
constexpr std::uint8_t to_all = 3;  // PMIX_GLOBAL
constexpr const char* key = "tutti";

using Found = void (*)(int status, Value* value, void* into);

Info info(const char* name) {
  Info result{};
  std::strncpy(result.key, name, sizeof result.key - 1);
  return result;
}

// Questions under way, each answered by a thread of PMIx.
struct Asked {
  struct Question {
    Asked* all;
    std::string value;
  };
  std::mutex mutex;
  std::condition_variable answered;
  std::vector<Question> questions;
  std::size_t open = 0;
  Info timeout = info("pmix.timeout");

  static void on_found(int status, Value* value, void* into) {
    auto& question = *static_cast<Question*>(into);
    const std::lock_guard lock(question.all->mutex);
    if (status == 0 && value != nullptr && value->type == type_string &&
        value->data.string != nullptr)
      question.value = value->data.string;
    --question.all->open;
    question.all->answered.notify_one();
  }
};

class Pmix final : public Launcher {
 public:
  explicit Pmix(const Process& process) : me_(process) {}

  bool load(void* library) {
    return find(library, put_, "PMIx_Put") && find(library, commit_, "PMIx_Commit") &&
           find(library, get_, "PMIx_Get") && find(library, get_nb_, "PMIx_Get_nb");
  }

  [[nodiscard]] int rank() const override { return static_cast<int>(me_.rank); }
  [[nodiscard]] const char* rank_variable() const override { return "PMIX_RANK"; }

  [[nodiscard]] bool bears_threads() const override { return true; }
  [[nodiscard]] bool may_be_late() const override { return true; }

  bool put(const std::string& value) override {
    std::string text = value;
    Value mine{type_string, {text.data()}};
    return put_(to_all, key, &mine) == 0 && commit_() == 0;
  }

  // A launcher that has not heard of a key waits for it: so all are asked at once.
  bool get(std::span<const int> ranks, int patience_s, std::vector<std::string>& values) override {
    values.assign(ranks.size(), "");
    auto asked = std::make_unique<Asked>();
    asked->questions.assign(ranks.size(), {asked.get(), ""});
    asked->timeout.value.type = type_int;
    asked->timeout.value.data.number = patience_s;
    asked->open = ranks.size();
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      Process process = me_;
      process.rank = static_cast<std::uint32_t>(ranks[i]);
      if (get_nb_(&process, key, &asked->timeout, 1, Asked::on_found, &asked->questions[i]) == 0)
        continue;
      const std::lock_guard lock(asked->mutex);
      --asked->open;
    }
    std::unique_lock lock(asked->mutex);
    const bool all = asked->answered.wait_for(lock, std::chrono::seconds(patience_s + 10),
                                              [&] { return asked->open == 0; });
    for (std::size_t i = 0; all && i < ranks.size(); ++i)
      values[i] = std::move(asked->questions[i].value);
    lock.unlock();
    if (!all) (void)asked.release();  // who answers now must find it
    return all;
  }

  std::string host_of(int rank, std::span<const std::string>) override {
    Process process = me_;
    process.rank = static_cast<std::uint32_t>(rank);
    Info known = info("pmix.optional");  // do not ask anybody
    known.value.type = type_bool;
    known.value.data.flag = true;
    Value* found = nullptr;
    if (get_(&process, "pmix.hname", &known, 1, &found) != 0 || found == nullptr) return "";
    const bool text = found->type == type_string && found->data.string != nullptr;
    std::string host = text ? found->data.string : "";
    if (text) std::free(found->data.string);
    std::free(found);
    return host;
  }

 private:
  template <class Function>
  static bool find(void* library, Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
  }

  const Process me_;
  int (*put_)(std::uint8_t scope, const char* key, Value* value) = nullptr;
  int (*commit_)() = nullptr;
  int (*get_)(const Process*, const char* key, const Info*, std::size_t, Value** found) = nullptr;
  int (*get_nb_)(const Process*, const char* key, const Info*, std::size_t, Found,
                 void* into) = nullptr;
};

}  // namespace

std::unique_ptr<Launcher> make_pmix(void* library, const void* process) {
  auto pmix = std::make_unique<Pmix>(*static_cast<const Process*>(process));
  if (!pmix->load(library)) return nullptr;
  return pmix;
}

}  // namespace tutti::job
