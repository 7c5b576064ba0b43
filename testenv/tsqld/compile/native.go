package compile

import (
	"math"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// native writes a call as what SQLite computes by itself, if that is the same for every value that the arguments can have, and
// reports whether it did. A closure costs several hundred nanoseconds a row, which is more than most of these need in all.
// Where only an error tells the two apart, the closure stays for the values that are one. What becomes part of a schema is
// left alone: files hold it.
func (r *renderer) native(n *node) bool {
	if r.static {
		return false
	}
	word, rest, _ := strings.Cut(n.key, "|")
	switch word {
	case keyBuiltin:
		name, _, _ := strings.Cut(rest, "|")
		switch name {
		case "CONCAT":
			return r.nativeConcat(n)
		case "DATEADD":
			return r.nativeDateAdd(n)
		case "DATEDIFF_BIG":
			return r.nativeDateDiff(n)
		}
	case keyArith:
		op, _, _ := strings.Cut(rest, "|")
		return r.nativeArith(n, op)
	case keyConvert:
		return r.nativeConvert(n)
	case keyNotNull:
		// SQLite computes calls of fn over constants beforehand, where they would always fail; those of fnv it does not.
		r.WriteString("coalesce(")
		r.node(n.args[0])
		r.WriteString(", fnv(" + store.Literal(n.key) + ", NULL))")
		return true
	}
	return false
}

// isPlain reports whether an argument may be written several times: a column, a constant or a parameter.
func (r *renderer) isPlain(n *node) bool {
	return n.op == opCol || n.op == opConst || n.op == opVar || n.op == opRun || r.hoisted(n)
}

// guarded writes a value, or the call where the value lies outside a range. A value that is NULL stays so.
func (r *renderer) guarded(n *node, low, high int64, value func()) {
	r.WriteString("CASE WHEN ")
	value()
	r.WriteString(" NOT BETWEEN " + strconv.FormatInt(low, 10) + " AND " + strconv.FormatInt(high, 10) + " THEN ")
	r.call("fn", n)
	r.WriteString(" ELSE ")
	value()
	r.WriteString(" END")
}

// integerRange is what an integer type below bigint holds; ok is false for others.
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

// nativeArith writes sums, differences and products of integers. SQLite computes in 64 bits, which hold the result for
// operands below bigint. A number of rows is far from overflowing a bigint with them.
func (r *renderer) nativeArith(n *node, op string) bool {
	word := map[string]string{strconv.Itoa(int(types.Add)): " + ", strconv.Itoa(int(types.Sub)): " - ", strconv.Itoa(int(types.Mul)): " * "}[op]
	x, y := n.args[0], n.args[1]
	if word == "" {
		return false
	}
	if n.typ.ID == types.BigInt && word != " * " && (isRowNumber(x) && isSmallInt(y) || isSmallInt(x) && isRowNumber(y)) {
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

// isSmallInt reports an integer below bigint.
func isSmallInt(n *node) bool {
	_, _, ok := integerRange(n.typ)
	return ok || n.typ.ID == types.Bit
}

// isRowNumber reports a window function that counts rows.
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

// nativeConvert writes conversions among integers, and of integers to texts that are long enough.
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

// nativeConcat writes CONCAT of texts and integers whose result is not cut: its type has the length of all arguments, except
// that it ends at the largest one.
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
			length += a.typ.Length // of no matter for (max), whose result is (max)
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

// ticks are the parts of a date that have the same length always, in units of 100 nanoseconds.
var ticks = map[string]int64{
	"day": types.TicksPerDay, "hour": 60 * types.TicksPerMinute, "minute": types.TicksPerMinute,
	"second": types.TicksPerMinute / 60, "millisecond": types.TicksPerMinute / 60_000,
}

// tickPart is the length of the part that a date function names; ok is false for others.
func tickPart(n *node) (length int64, ok bool) {
	word, _ := n.args[0].val.(string)
	length, ok = ticks[word]
	return length, ok
}

// isTicks reports a datetime2 as SQLite holds it: the number of units of 100 nanoseconds since the year 1.
func isTicks(n *node) bool { return n.typ.ID == types.DateTime2 && n.typ.Scale == 7 }

// nativeDateAdd writes DATEADD of whole parts of fixed length.
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

// nativeDateDiff writes DATEDIFF_BIG, which counts the borders between parts.
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
