package compile

import (
	"math"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// native writes a call as SQLite's own operators or functions if these return the same result for
// all possible arguments, and reports whether it did. A call of fn costs several hundred
// nanoseconds a row, more than most of these operations themselves. Where the two differ only in an
// error, fn is called for the values that cause the error. SQL stored in a schema is left
// unchanged, because database files contain it.
func (r *renderer) native(n *node) bool {
	if r.static {
		return false
	}
	word, rest, _ := strings.Cut(n.key, "|")
	switch word {
	case keys.Builtin:
		name, _, _ := strings.Cut(rest, "|")
		switch name {
		case "CONCAT":
			return r.nativeConcat(n)
		case "DATEADD":
			return r.nativeDateAdd(n)
		case "DATEDIFF_BIG":
			return r.nativeDateDiff(n)
		}
	case keys.Arith:
		op, _, _ := strings.Cut(rest, "|")
		return r.nativeArith(n, op)
	case keys.Convert:
		return r.nativeConvert(n)
	case keys.NotNull:
		// SQLite evaluates fn of constants before the first row, and the call would always fail. It
		// does not do so for fnv.
		r.WriteString("coalesce(")
		r.node(n.args[0])
		r.WriteString(", fnv(" + store.Literal(n.key) + ", NULL))")
		return true
	}
	return false
}

// isPlain reports whether an argument may be written several times: a column, a constant or a
// parameter.
func (r *renderer) isPlain(n *node) bool {
	return n.op == opCol || n.op == opConst || n.op == opVar || n.op == opRun || r.hoisted(n)
}

// guarded writes a value, or the call of n's function where the value is outside a range. NULL
// stays NULL.
func (r *renderer) guarded(n *node, low, high int64, value func()) {
	r.WriteString("CASE WHEN ")
	value()
	r.WriteString(" NOT BETWEEN " + strconv.FormatInt(low, 10) + " AND " + strconv.FormatInt(high, 10) + " THEN ")
	r.call("fn", n)
	r.WriteString(" ELSE ")
	value()
	r.WriteString(" END")
}

// integerRange returns the range of an integer type smaller than bigint; ok is false for other
// types.
func integerRange(t types.Type) (low, high int64, ok bool) {
	switch t.ID {
	case types.TinyInt:
		return 0, math.MaxUint8, true
	case types.SmallInt:
		return math.MinInt16, math.MaxInt16, true
	case types.Int:
		return math.MinInt32, math.MaxInt32, true
	}
	return 0, 0, false
}

// nativeArithOps maps the operator numbers in keys to SQLite's operators.
var nativeArithOps = map[string]string{
	strconv.Itoa(int(types.Add)): " + ", strconv.Itoa(int(types.Sub)): " - ", strconv.Itoa(int(types.Mul)): " * ",
}

// nativeArith writes sums, differences and products of integers. SQLite computes in 64 bits, enough
// for the result of operands smaller than bigint. A row number as bigint operand is too small to
// overflow.
func (r *renderer) nativeArith(n *node, op string) bool {
	word := nativeArithOps[op]
	x, y := n.args[0], n.args[1]
	if word == "" {
		return false
	}
	if n.typ.ID == types.BigInt && word != " * " &&
		(isRowNumber(x) && isSmallInt(y) || isSmallInt(x) && isRowNumber(y)) {
		r.operator(word, x, y)
		return true
	}
	low, high, ok := integerRange(n.typ)
	if !ok || !isSmallInt(x) || !isSmallInt(y) || !r.isPlain(x) || !r.isPlain(y) {
		return false
	}
	r.guarded(n, low, high, func() { r.operator(word, x, y) })
	return true
}

// isSmallInt reports whether a node is an integer smaller than bigint.
func isSmallInt(n *node) bool {
	_, _, ok := integerRange(n.typ)
	return ok || n.typ.ID == types.Bit
}

// isRowNumber reports whether a node is a window function that counts rows.
func isRowNumber(n *node) bool {
	if n.op != opWindow || n.agg.wrap != "" {
		return false
	}
	switch n.agg.native {
	case "row_number", "rank", "dense_rank", "count":
		return true
	}
	return false
}

// nativeConvert writes conversions between integers, and of integers to texts that are long enough.
func (r *renderer) nativeConvert(n *node) bool {
	x := n.args[0]
	if !x.typ.IsInteger() || !strings.HasSuffix(n.key, "|"+strconv.Itoa(types.NoStyle)) {
		return false
	}
	if n.typ.ID == types.VarChar || n.typ.ID == types.NVarChar {
		if n.typ.Length != types.Max && n.typ.Length < x.typ.DisplayLength() {
			return false
		}
		r.WriteString("CAST(")
		r.node(x)
		r.WriteString(" AS TEXT)")
		return true
	}
	if n.typ.ID == types.Bit {
		r.WriteByte('(')
		r.node(x)
		r.WriteString(" <> 0)")
		return true
	}
	low, high, ok := integerRange(n.typ)
	if !ok || !r.isPlain(x) {
		return false
	}
	r.guarded(n, low, high, func() { r.node(x) })
	return true
}

// nativeConcat writes CONCAT of texts and integers if the result is not truncated. The length of
// the result type is the sum of the arguments' lengths, up to the maximum of 8000 bytes.
func (r *renderer) nativeConcat(n *node) bool {
	largest, length := 8000, 0
	if n.typ.IsUnicode() {
		largest = 4000
	}
	for _, a := range n.args {
		switch {
		case a.typ.ID == types.Null:
		case a.typ.IsInteger():
			length += a.typ.DisplayLength()
		case a.typ.IsCharacter() && !a.typ.IsLOB():
			length += a.typ.Length // irrelevant for (max), because the result is (max)
		default:
			return false
		}
	}
	if n.typ.Length != types.Max && length > largest {
		return false
	}
	r.WriteString("concat(")
	r.list(n.args)
	r.WriteByte(')')
	return true
}

// ticks are the lengths of the date parts with a fixed length, in units of 100 nanoseconds.
var ticks = map[string]int64{
	"day": types.TicksPerDay, "hour": 60 * types.TicksPerMinute, "minute": types.TicksPerMinute,
	"second": types.TicksPerMinute / 60, "millisecond": types.TicksPerMinute / 60_000,
}

// tickPart returns the length of the date part named by the first argument; ok is false for parts
// without a fixed length.
func tickPart(n *node) (length int64, ok bool) {
	word, _ := n.args[0].val.(string)
	length, ok = ticks[word]
	return length, ok
}

// isTicks reports whether a node is a datetime2(7). SQLite stores it as the number of units of 100
// nanoseconds since the year 1.
func isTicks(n *node) bool { return n.typ.ID == types.DateTime2 && n.typ.Scale == 7 }

// nativeDateAdd writes DATEADD of date parts with a fixed length.
func (r *renderer) nativeDateAdd(n *node) bool {
	length, ok := tickPart(n)
	count, at := n.args[1], n.args[2]
	if !ok || !isTicks(at) || !isTicks(n) || !isSmallInt(count) || !r.isPlain(count) || !r.isPlain(at) {
		return false
	}
	r.guarded(n, 0, types.MaxTicks, func() {
		r.WriteByte('(')
		r.node(at)
		r.WriteString(" + ")
		r.node(count)
		r.WriteString(" * " + strconv.FormatInt(length, 10) + ")")
	})
	return true
}

// nativeDateDiff writes DATEDIFF_BIG, which counts the boundaries between date parts.
func (r *renderer) nativeDateDiff(n *node) bool {
	length, ok := tickPart(n)
	if !ok || !isTicks(n.args[1]) || !isTicks(n.args[2]) {
		return false
	}
	part := func(n *node) {
		r.node(n)
		r.WriteString(" / " + strconv.FormatInt(length, 10))
	}
	r.WriteByte('(')
	part(n.args[2])
	r.WriteString(" - ")
	part(n.args[1])
	r.WriteByte(')')
	return true
}
