// Runs the blocks of a grid one after another, each with a fiber for a CUDA thread; see shim.h.
#include "shim.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <sys/mman.h>
#include <vector>
#ifndef __x86_64__
#include <ucontext.h>
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

extern "C" {
uint3 tt_thread, tt_block;
dim3 tt_block_size, tt_grid_size;
unsigned long long* tt_dynamic_shared;
}

namespace {

constexpr size_t STACK = 128 * 1024;

// --- contexts: registers and a stack ---

#ifdef __x86_64__
struct Context { void* stack_pointer = nullptr; };
extern "C" void tt_switch(void** from, void* to);
asm(R"(
.text
.globl tt_switch
.type tt_switch, @function
tt_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size tt_switch, .-tt_switch
)");
void prepare(Context& context, char* stack, void (*entry)()) {
    void** top = reinterpret_cast<void**>((reinterpret_cast<uintptr_t>(stack) + STACK) & ~uintptr_t(15));
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(entry);  // the stack is as a function finds it: 8 past a multiple of 16
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    context.stack_pointer = top;
}
void jump(Context& from, Context& to) { tt_switch(&from.stack_pointer, to.stack_pointer); }
#else
struct Context { ucontext_t registers; };
void prepare(Context& context, char* stack, void (*entry)()) {
    getcontext(&context.registers);
    context.registers.uc_stack.ss_sp = stack;
    context.registers.uc_stack.ss_size = STACK;
    context.registers.uc_link = nullptr;
    makecontext(&context.registers, entry, 0);
}
void jump(Context& from, Context& to) { swapcontext(&from.registers, &to.registers); }
#endif

// --- fibers ---

enum class State { fresh, ready, at_block, at_warp, done };

struct Fiber {
    Context context;
    char* stack = nullptr;
    State state = State::fresh;
    unsigned int mask = 0;
    uint3 place;
    unsigned long long slot = 0;  // what the lane shows
    unsigned int from = 0;        // the lanes of which it has seen something
    unsigned long long seen[32];
};

struct Launch {
    void (*run)(const char*);
    const char* arguments;
    std::vector<Fiber> fibers;
    std::vector<char*> free_stacks, all_stacks;
    Context scheduler;
    size_t current = 0;
    char* problem;
    size_t problem_size;
#ifdef __SANITIZE_ADDRESS__
    const void* main_stack = nullptr;
    size_t main_size = 0;
#endif
};
Launch* launch;

Fiber& me() { return launch->fibers[launch->current]; }

void to_scheduler(bool leaving) {
    Fiber& fiber = me();
#ifdef __SANITIZE_ADDRESS__
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(leaving ? nullptr : &fake, launch->main_stack, launch->main_size);
#else
    (void)leaving;
#endif
    jump(fiber.context, launch->scheduler);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

void entry() {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(nullptr, &launch->main_stack, &launch->main_size);
#endif
    launch->run(launch->arguments);
    me().state = State::done;
    to_scheduler(true);
    abort();
}

void resume(size_t index) {
    Fiber& fiber = launch->fibers[index];
    launch->current = index;
    tt_thread = fiber.place;
    if (fiber.state == State::fresh) {
        if (launch->free_stacks.empty()) {
            void* made = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (made == MAP_FAILED) abort();
            launch->all_stacks.push_back(static_cast<char*>(made));
            launch->free_stacks.push_back(static_cast<char*>(made));
        }
        fiber.stack = launch->free_stacks.back();
        launch->free_stacks.pop_back();
        prepare(fiber.context, fiber.stack, entry);
    }
    fiber.state = State::ready;
#ifdef __SANITIZE_ADDRESS__
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, fiber.stack, STACK);
#endif
    jump(launch->scheduler, fiber.context);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
    if (fiber.state == State::done) ASAN_UNPOISON_MEMORY_REGION(fiber.stack, STACK);
#endif
    if (fiber.state == State::done) launch->free_stacks.push_back(fiber.stack);
}

bool fail(const char* text) {
    snprintf(launch->problem, launch->problem_size, "block (%u, %u, %u): %s", tt_block.x, tt_block.y, tt_block.z, text);
    return false;
}

// Let those go on whom nothing keeps waiting; false, with a problem, if there is nobody.
bool release() {
    auto& fibers = launch->fibers;
    bool any = false;
    size_t waiting = 0, done = 0;
    for (auto& fiber : fibers) {
        waiting += fiber.state == State::at_block;
        done += fiber.state == State::done;
    }
    if (waiting && waiting + done == fibers.size()) {
        if (done) return fail("some threads have left the kernel, and others wait for them at __syncthreads");
        for (auto& fiber : fibers) fiber.state = State::ready;
        return true;
    }
    for (size_t first = 0; first < fibers.size(); first += 32) {
        size_t lanes = fibers.size() - first < 32 ? fibers.size() - first : 32;
        for (size_t lane = 0; lane < lanes; ++lane) {
            Fiber& fiber = fibers[first + lane];
            if (fiber.state != State::at_warp) continue;
            unsigned int mask = fiber.mask;
            if (!(mask >> lane & 1u)) return fail("a lane takes part in what its mask leaves it out of");
            bool all = true;
            for (size_t other = 0; other < lanes; ++other) {
                if (!(mask >> other & 1u)) continue;
                State state = fibers[first + other].state;
                if (state == State::done) return fail("a warp waits for a lane that has left the kernel");
                all = all && state == State::at_warp && fibers[first + other].mask == mask;
            }
            if (lanes < 32 && mask >> lanes) return fail("the mask names lanes that the block does not have");
            if (!all) continue;
            for (size_t other = 0; other < lanes; ++other) {
                if (!(mask >> other & 1u)) continue;
                Fiber& woken = fibers[first + other];
                woken.state = State::ready;
                woken.from = mask;
                for (size_t k = 0; k < lanes; ++k)
                    if (mask >> k & 1u) woken.seen[k] = fibers[first + k].slot;
            }
            any = true;
        }
    }
    return any || fail("threads wait for each other at different places, some at __syncthreads");
}

bool run_block(std::mt19937& random, int order) {
    auto& fibers = launch->fibers;
    std::vector<size_t> turn(fibers.size());
    for (size_t i = 0; i < fibers.size(); ++i) {
        fibers[i].state = State::fresh;
        unsigned int t = unsigned(i);
        fibers[i].place = {t % tt_block_size.x, t / tt_block_size.x % tt_block_size.y,
                           t / tt_block_size.x / tt_block_size.y};
        turn[i] = order == 1 ? fibers.size() - 1 - i : i;
    }
    for (;;) {
        // A warp runs in one piece until it waits, in the order of the block.
        if (order == 2)
            for (size_t i = turn.size(); i > 1; --i) std::swap(turn[i - 1], turn[random() % i]);
        size_t left = 0;
        bool ran = false;
        for (size_t index : turn) {
            State state = fibers[index].state;
            if (state == State::fresh || state == State::ready) resume(index), ran = true;
            left += fibers[index].state != State::done;
        }
        if (!left) return true;
        if (!ran) return fail("nothing can go on");
        if (!release()) return false;
    }
}

}  // namespace

extern "C" {

void tt_wait_block(void) {
    me().state = State::at_block;
    to_scheduler(false);
}

void tt_wait_warp(unsigned int mask) {
    Fiber& fiber = me();
    fiber.mask = mask;
    fiber.state = State::at_warp;
    to_scheduler(false);
}

void tt_exchange(unsigned int mask, const void* value, int size) {
    me().slot = 0;
    memcpy(&me().slot, value, size_t(size));
    tt_wait_warp(mask);
}

bool tt_shown(int lane, void* value, int size) {
    if (lane < 0 || lane >= 32 || !(me().from >> lane & 1u)) return false;
    memcpy(value, &me().seen[lane], size_t(size));
    return true;
}

unsigned long long tt_block_total(unsigned long long value, int how) {
    static std::vector<unsigned long long> given;
    given.resize(launch->fibers.size());
    given[launch->current] = value;
    tt_wait_block();
    unsigned long long found = how == 1;
    for (unsigned long long item : given) found = how == 0 ? found + item : how == 1 ? found && item : found || item;
    tt_wait_block();
    return found;
}

// Run a kernel over a grid; order: 0 ascending, 1 descending, 2 by chance.  Returns 0, or 1 with a problem.
int tt_launch(void (*run)(const char*), const char* arguments, const unsigned int* grid, const unsigned int* block,
              unsigned long shared, int order, unsigned int seed, char* problem, unsigned long problem_size) {
    Launch mine;
    launch = &mine;
    mine.run = run;
    mine.arguments = arguments;
    mine.problem = problem;
    mine.problem_size = problem_size;
    tt_grid_size = dim3(grid[0], grid[1], grid[2]);
    tt_block_size = dim3(block[0], block[1], block[2]);
    mine.fibers.resize(size_t(block[0]) * block[1] * block[2]);
    std::mt19937 random(seed);
    bool fine = true;
    unsigned long long blocks = (unsigned long long)grid[0] * grid[1] * grid[2];
    for (unsigned long long step = 0; step < blocks && fine; ++step) {
        unsigned long long b = order == 1 ? blocks - 1 - step : step;
        tt_block = {unsigned(b % grid[0]), unsigned(b / grid[0] % grid[1]), unsigned(b / grid[0] / grid[1])};
        // Fresh for each block and full of rubbish, so that what relies on its content shows.
        std::unique_ptr<unsigned long long[]> memory(shared ? new unsigned long long[(shared + 7) / 8] : nullptr);
        if (shared) memset(memory.get(), 0xa5, (shared + 7) / 8 * 8);
        tt_dynamic_shared = memory.get();
        fine = run_block(random, order);
    }
    for (char* stack : mine.all_stacks) {
#ifdef __SANITIZE_ADDRESS__
        ASAN_UNPOISON_MEMORY_REGION(stack, STACK);
#endif
        munmap(stack, STACK);
    }
    launch = nullptr;
    tt_dynamic_shared = nullptr;
    return !fine;
}
}
