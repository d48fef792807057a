// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/operations.h"

#include <algorithm>
#include <memory>

#include "engine/engine.h"
#include "mpi/reduction.h"
#include "mpi/user_operation.h"
#include "segment/desk.h"

namespace tutti::mpi {
namespace {

// nullptr: MPI does not define the operation on the type, or there is no kernel.
const reduce::Kernel* kernel_of(const Known& type, const OpRow& op) {
  using reduce::Op;
  const auto is = [&op](Op a, Op b, Op c) { return op.op == a || op.op == b || op.op == c; };
  const bool logical = is(Op::land, Op::lor, Op::lxor), bitwise = is(Op::band, Op::bor, Op::bxor);
  switch (type.arithmetic) {
    case Arithmetic::none:
      return nullptr;
    case Arithmetic::numbers:
      if (logical) return nullptr;
      break;
    case Arithmetic::bitwise:
      if (!bitwise) return nullptr;
      break;
    case Arithmetic::logical:
      if (!logical) return nullptr;
      break;
    case Arithmetic::full:
      break;
  }
  return reduce::find(op.op, type.type);
}

// Larger elements fit no slot, in which a Reduce_scatter has one of each member's part.
template <class H>
std::size_t most_element_bytes(const Call<H>& call) {
  const std::size_t parts =
      scatters_result(call.collective) ? static_cast<std::size_t>(call.size) : 1;
  return std::min(coll::most_slot_element_bytes, segment::staging_bytes / parts);
}

}  // namespace

template <class H>
void Operations<H>::open(const Library& library) {
  const Symbols symbols{library.handle};
  for (const OpRow& row : op_rows()) ops_.insert(handle_of(row, library.family, symbols), row);
  std::ranges::transform(other_op_rows(), no_operations_.begin(), [&](const OtherOpRow& row) {
    return handle_of(row, library.family, symbols);
  });
}

template <class H>
std::size_t Operations<H>::bytes_of(Count count, H type, H op) {
  PredefinedTypes<H>& predefined = datatypes_.predefined();
  auto* slot = predefined.slot_of(type);
  if (slot == nullptr || ops_.find(key_of(op)) == nullptr || count <= 0) return 0;
  const Known& known = predefined.known(*slot, type);
  std::size_t bytes = 0;
  const bool fits = !__builtin_mul_overflow(
      static_cast<std::size_t>(count), std::max(known.bytes, reduce::size_of(known.type)), &bytes);
  return fits ? bytes : SIZE_MAX;
}

template <class H>
bool Operations<H>::make_plan(Call<H>& call, H type, H op) {
  const OpRow* operation = ops_.find(key_of(op));
  if (operation == nullptr) return make_user_plan(call, type, op);
  PredefinedTypes<H>& predefined = datatypes_.predefined();
  auto* slot = predefined.slot_of(type);
  if (slot == nullptr) return answers_.leave(call, "derived datatype");
  const bool final = predefined.is_final(*slot);
  const Known& known = predefined.known(*slot, type);
  const reduce::Kernel* kernel = kernel_of(known, *operation);
  call.work.element_bytes = reduce::size_of(known.type);
  const bool whole = known.sort == Known::Sort::dense && reduce::is_integer(known.type);
  if (kernel == nullptr && whole && call.team != nullptr && final) {
    kernel = arguments_.kernel_as_computed(call.site.comm, type, op, operation->op, known.bytes);
    call.work.element_bytes = known.bytes;
  }
  if (kernel == nullptr) return answers_.leave(call, "no kernel for this datatype");
  call.work.kernel = kernel;
  call.work.op = 1 + static_cast<int>(operation->op);
  if (known.sort == Known::Sort::gapped) {  // a pair that C pads
    call.reduction = std::make_unique<Reduction<H>>(type, op);
    Described<H> element;
    if (!datatypes_.describe(type, element)) return false;
    pack(call, element);
    return true;
  }
  if (final) recent().plan = {type, op, kernel, call.work.element_bytes, call.work.op};
  return true;
}

// Elements have gaps, which are nobody's: they travel without.
template <class H>
void Operations<H>::pack(Call<H>& call, Described<H>& element) {
  if (!call.blocking()) call.site.keeper->keep(element);
  call.reduction->element = element;
  call.reduction->gapped = true;
}

// Whether it is one of the user's; else the MPI says the error.
template <class H>
bool Operations<H>::find_user_operation(Call<H>& call, H op) {
  if (op == H{}) return answers_.leave(call, "no operation");
  H& last = recent().operation;
  // Another one, which does not commute, may have got the handle of one that was freed.
  const bool asks = call.team != nullptr && call.team->spans_nodes();
  if (last == op && !asks) return true;
  int commutes = 0;
  for (const std::uint64_t none : no_operations_)
    if (key_of(op) == none)
      return answers_.leave(call, "no operation of a reduction, or one that only the MPI has");
  if (native_.op_commutative(op, &commutes) != 0) return answers_.leave(call, "no operation");
  call.work.commutes = commutes != 0;
  last = op;
  return true;
}

// How elements with gaps lie. False: the MPI does not say.
template <class H>
bool Operations<H>::spread_of(Call<H>& call, const Described<H>& element, Spread<H>& spread) {
  Count first = 0, span = 0, lower = 0, extent = 0;
  if (native_.type_get_true_extent_x(element.type, &first, &span) != 0) return false;
  if (native_.type_get_extent_x(element.type, &lower, &extent) != 0) return false;
  // A function may copy whole elements, with what they begin and end with. But bounds may be
  // anything: those apart from the data are none of a structure's.
  if (lower < first + span && first < lower + extent) {
    const Count end = std::max(first + span, lower + extent);
    first = std::min(first, lower);
    span = end - first;
  }
  const Site<H>& site = call.site;
  spread = {&native_,
            element.layout,
            element.type,
            site.keeper != nullptr && element.opaque ? site.keeper->packs_on(site.comm) : site.comm,
            element.bytes,
            element.extent,
            first,
            span};
  return true;
}

// An operation of the user, which this rank's threads compute: in a blocking call this one, else
// whichever completes the request.
template <class H>
bool Operations<H>::make_user_plan(Call<H>& call, H type, H op) {
  if (!find_user_operation(call, op)) return false;
  Described<H> element;
  if (!datatypes_.describe(type, element) || element.bytes == 0) return false;
  const bool solid =
      element.layout == nullptr || (element.layout->dense() && element.layout->first() == 0);
  const bool gapped =
      !solid || element.opaque || element.extent != static_cast<Aint>(element.bytes);
  const bool spans_nodes = call.team != nullptr && call.team->spans_nodes();
  const bool gathered = spans_nodes && !call.work.commutes && !is_scan(call.collective);
  const bool late = !call.blocking() || element.bytes > most_element_bytes(call) || gathered;
  Spread<H> spread;
  if (late || gapped) call.reduction = std::make_unique<Reduction<H>>(type, op);
  if (gapped) {
    pack(call, element);
    if (!spread_of(call, element, spread)) return false;
  }
  const UserOperation<H> operation(native_, type, op, element.bytes, gapped ? &spread : nullptr);
  if (late) {
    call.reduction->operation = operation;
    call.work.operands = &call.reduction->operands;
  }
  if (call.blocking()) UserOperation<H>::set(operation);
  call.work.kernel = &UserOperation<H>::kernel();
  call.work.element_bytes = element.bytes;
  call.work.op = coll::user_op;
  return true;
}

template class Operations<int>;
template class Operations<void*>;

}  // namespace tutti::mpi
