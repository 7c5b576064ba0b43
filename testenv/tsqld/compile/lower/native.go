package lower

import (
	"math"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// native writes a call as SQLite's own operators or functions if these return the same result for
// all possible arguments, and reports whether it did. A call of fn costs several hundred
// nanoseconds a row, more than most of these operations themselves. Where the two differ only in an
// error, fn is called for the values that cause the error. SQL stored in a schema is left
// unchanged, because database files contain it.
func (r *Renderer) native(n *tree.Node) bool {
	if r.static {
		return false
	}
	word, rest, _ := strings.Cut(n.Key, "|")
	switch word {
	case keys.Builtin:
		name, _, _ := strings.Cut(rest, "|")
		switch name {
		case "CONCAT":
			return nativeConcat(r, n)
		case "DATEADD":
			return nativeDateAdd(r, n)
		case "DATEDIFF_BIG":
			return nativeDateDiff(r, n)
		}
	case keys.Arith:
		op, _, _ := strings.Cut(rest, "|")
		return nativeArith(r, n, op)
	case keys.Convert:
		return nativeConvert(r, n)
	case keys.NotNull:
		// SQLite evaluates fn of constants before the first row, and the call would always fail. It
		// does not do so for fnv.
		r.WriteString("coalesce(")
		r.Node(n.Args[0])
		r.WriteString(", fnv(" + store.Literal(n.Key) + ", NULL))")
		return true
	}
	return false
}

// isPlain reports whether an argument may be written several times: a column, a constant or a
// parameter.
func (r *Renderer) isPlain(n *tree.Node) bool {
	return n.Op == tree.OpCol || n.Op == tree.OpConst || n.Op == tree.OpVar || n.Op == tree.OpRun || r.hoisted(n)
}

// guarded writes a value, or the call of n's function where the value is outside a range. NULL
// stays NULL.
func guarded(r *Renderer, n *tree.Node, low, high int64, value func()) {
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
func nativeArith(r *Renderer, n *tree.Node, op string) bool {
	word := nativeArithOps[op]
	x, y := n.Args[0], n.Args[1]
	if word == "" {
		return false
	}
	if n.Type.ID == types.BigInt && word != " * " &&
		(isRowNumber(x) && isSmallInt(y) || isSmallInt(x) && isRowNumber(y)) {
		r.operator(word, x, y)
		return true
	}
	low, high, ok := integerRange(n.Type)
	if !ok || !isSmallInt(x) || !isSmallInt(y) || !r.isPlain(x) || !r.isPlain(y) {
		return false
	}
	guarded(r, n, low, high, func() { r.operator(word, x, y) })
	return true
}

// isSmallInt reports whether a node is an integer smaller than bigint.
func isSmallInt(n *tree.Node) bool {
	_, _, ok := integerRange(n.Type)
	return ok || n.Type.ID == types.Bit
}

// isRowNumber reports whether a node is a window function that counts rows.
func isRowNumber(n *tree.Node) bool {
	if n.Op != tree.OpWindow || n.Aggregate.Wrap != "" {
		return false
	}
	switch n.Aggregate.Native {
	case "row_number", "rank", "dense_rank", "count":
		return true
	}
	return false
}

// nativeConvert writes conversions between integers, and of integers to texts that are long enough.
func nativeConvert(r *Renderer, n *tree.Node) bool {
	x := n.Args[0]
	if !x.Type.IsInteger() || !strings.HasSuffix(n.Key, "|"+strconv.Itoa(types.NoStyle)) {
		return false
	}
	if n.Type.ID == types.VarChar || n.Type.ID == types.NVarChar {
		if n.Type.Length != types.Max && n.Type.Length < x.Type.DisplayLength() {
			return false
		}
		r.WriteString("CAST(")
		r.Node(x)
		r.WriteString(" AS TEXT)")
		return true
	}
	if n.Type.ID == types.Bit {
		r.WriteByte('(')
		r.Node(x)
		r.WriteString(" <> 0)")
		return true
	}
	low, high, ok := integerRange(n.Type)
	if !ok || !r.isPlain(x) {
		return false
	}
	guarded(r, n, low, high, func() { r.Node(x) })
	return true
}

// nativeConcat writes CONCAT of texts and integers if the result is not truncated. The length of
// the result type is the sum of the arguments' lengths, up to the maximum of 8000 bytes.
func nativeConcat(r *Renderer, n *tree.Node) bool {
	largest, length := 8000, 0
	if n.Type.IsUnicode() {
		largest = 4000
	}
	for _, a := range n.Args {
		switch {
		case a.Type.ID == types.Null:
		case a.Type.IsInteger():
			length += a.Type.DisplayLength()
		case a.Type.IsCharacter() && !a.Type.IsLOB():
			length += a.Type.Length // irrelevant for (max), because the result is (max)
		default:
			return false
		}
	}
	if n.Type.Length != types.Max && length > largest {
		return false
	}
	r.WriteString("concat(")
	r.List(n.Args)
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
func tickPart(n *tree.Node) (length int64, ok bool) {
	word, _ := n.Args[0].Value.(string)
	length, ok = ticks[word]
	return length, ok
}

// isTicks reports whether a node is a datetime2(7). SQLite stores it as the number of units of 100
// nanoseconds since the year 1.
func isTicks(n *tree.Node) bool { return n.Type.ID == types.DateTime2 && n.Type.Scale == 7 }

// nativeDateAdd writes DATEADD of date parts with a fixed length.
func nativeDateAdd(r *Renderer, n *tree.Node) bool {
	length, ok := tickPart(n)
	count, at := n.Args[1], n.Args[2]
	if !ok || !isTicks(at) || !isTicks(n) || !isSmallInt(count) || !r.isPlain(count) || !r.isPlain(at) {
		return false
	}
	guarded(r, n, 0, types.MaxTicks, func() {
		r.WriteByte('(')
		r.Node(at)
		r.WriteString(" + ")
		r.Node(count)
		r.WriteString(" * " + strconv.FormatInt(length, 10) + ")")
	})
	return true
}

// nativeDateDiff writes DATEDIFF_BIG, which counts the boundaries between date parts.
func nativeDateDiff(r *Renderer, n *tree.Node) bool {
	length, ok := tickPart(n)
	if !ok || !isTicks(n.Args[1]) || !isTicks(n.Args[2]) {
		return false
	}
	part := func(n *tree.Node) {
		r.Node(n)
		r.WriteString(" / " + strconv.FormatInt(length, 10))
	}
	r.WriteByte('(')
	part(n.Args[2])
	r.WriteString(" - ")
	part(n.Args[1])
	r.WriteByte(')')
	return true
}
