package scalar

import (
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// aggregate binds an aggregate or a window function.
func (b calls) aggregate(f *builtin.Func, e *syntax.FuncCall, l *names.Level) (*tree.Node, error) {
	state := l.Aggregates()
	if f.Kind == builtin.Window && e.Over == nil {
		return nil, mserr.OverRequired(f.Name)
	}
	if e.Over != nil {
		if state == nil || !state.Windows {
			return nil, mserr.WindowPlace()
		}
		if state.InWindow {
			return nil, mserr.WindowInWindow()
		}
	} else if err := state.CheckNested(); err != nil {
		return nil, err
	}
	if strings.HasPrefix(f.Name, "GROUPING") {
		if err := state.CheckAllowed(); err != nil {
			return nil, err
		}
		return b.grouping(f, e, l)
	}
	args, err := b.aggregateArgs(f, e, l, state)
	if err != nil {
		return nil, err
	}
	if f.Name == "STRING_AGG" {
		if e.Over != nil {
			return nil, mserr.NotWindowFunction(f.Name)
		}
		if _, isCast := e.Args[1].(*syntax.CastExpr); isCast || args[1].Traits&tree.HasColumn != 0 {
			return nil, mserr.SeparatorNotConstant()
		}
		if args[1].Type.Length == types.Max {
			return nil, mserr.Of(8734)
		}
		if e.Distinct {
			return nil, mserr.Syntax(",")
		}
	}
	if builtin.IsPercentile(f) {
		if args, err = b.percentileArgs(f, e, l, state, args); err != nil {
			return nil, err
		}
	}
	owner := l
	if e.Over == nil {
		if state.Named != nil {
			owner = state.Named // all columns of its arguments are outer references
		}
		if err := owner.Agg.CheckAllowed(); err != nil {
			return nil, err
		}
		owner.Agg.Found = true
	}
	n, err := MakeAggregate(f, e, args)
	if err != nil {
		return nil, err
	}
	if len(e.WithinGroup) > 0 && !builtin.IsPercentile(f) {
		if f.Name != "STRING_AGG" {
			return nil, mserr.Of(10757, strings.ToLower(f.Name))
		}
		arguments := state.InArguments
		state.InArguments = true
		n.Aggregate.Order, err = b.windowOrder(e.WithinGroup, l)
		state.InArguments = arguments
		if err != nil {
			return nil, err
		}
	}
	if e.Over == nil {
		n.Traits = tree.HasAgg | tree.HasColumn | tree.CanFail
		if owner != l {
			n.Aggregate.Outer, n.Traits = true, tree.HasSubquery|tree.HasColumn|tree.CanFail
		}
		return n, nil
	}
	return b.over(f, n, e, l, state)
}

// percentileArgs returns the arguments of a percentile as its accumulator
// takes them: the percentile, the expression of WITHIN GROUP, and whether its order is descending.
func (b calls) percentileArgs(f *builtin.Func, e *syntax.FuncCall, l *names.Level, state *names.Aggregation, args []*tree.Node) ([]*tree.Node, error) {
	switch {
	case len(args) != 1:
		return nil, mserr.ArgumentCount(strings.ToLower(f.Name), 1)
	case len(e.WithinGroup) == 0:
		return nil, mserr.Of(10754, f.Name)
	case len(e.WithinGroup) > 1:
		return nil, mserr.Syntax(",")
	}
	percentile, err := expr.ConvertImplicit(args[0], types.FloatType)
	if err != nil {
		return nil, err
	}
	place := &state.InWindow
	if e.Over == nil {
		place = &state.InArguments
	}
	before := *place
	*place = true
	order, err := b.windowOrder(e.WithinGroup, l)
	*place = before
	if err != nil {
		return nil, err
	}
	value := order[0].Node
	if strings.HasSuffix(f.Name, "PERCENTILE_CONT") && (value.Type.IsNumber() || value.Type.ID == types.Bit) {
		if value, err = expr.ConvertImplicit(value, types.FloatType); err != nil {
			return nil, err
		}
	}
	return []*tree.Node{percentile, value, tree.Constant(types.BitOf(order[0].Desc), types.BitType)}, nil
}

// aggregateArgs binds the arguments. They must not contain another aggregate unless the function is
// a window function.
func (b calls) aggregateArgs(f *builtin.Func, e *syntax.FuncCall, l *names.Level, state *names.Aggregation) ([]*tree.Node, error) {
	if e.Over != nil {
		state.InWindow = true
		defer func() { state.InWindow = false }()
	} else {
		state.InArguments, state.Named = true, nil
		defer func() { state.InArguments = false }()
	}
	if e.Star {
		if !strings.HasPrefix(f.Name, "COUNT") {
			return nil, mserr.Syntax("*")
		}
		return nil, nil
	}
	if strings.HasPrefix(f.Name, "COUNT") && len(e.Args) == 0 {
		return nil, mserr.ArgumentCount(strings.ToLower(f.Name), 1)
	}
	args, err := b.Exprs(e.Args, l)
	for _, a := range args {
		if err == nil && a.Traits&tree.HasSequence != 0 {
			err = mserr.Of(11725)
		}
	}
	return args, err
}

// MakeAggregate returns the node of an aggregate. SQLite's own function is used where it returns
// exactly SQL Server's result.
func MakeAggregate(f *builtin.Func, e *syntax.FuncCall, args []*tree.Node) (*tree.Node, error) {
	t, ts, err := resultType(f, args)
	if err != nil {
		return nil, err
	}
	if t.IsCharacter() {
		if t.Collation, err = expr.CollationOf(strings.ToLower(f.Name), args...); err != nil {
			return nil, err
		}
	} else if e.Distinct {
		if _, err := expr.CollationOf("DISTINCT", args...); err != nil {
			return nil, err
		}
	}
	agg := &tree.Aggregate{Distinct: e.Distinct, Star: e.Star, Args: args}
	n := &tree.Node{Op: tree.OpAgg, Type: t, Null: true, Aggregate: agg, Traits: tree.HasAgg | tree.HasColumn | tree.CanFail}
	for _, a := range args {
		n.Traits |= a.Traits
		if t.IsCharacter() {
			n.Label = n.Label.Higher(a.Label)
		}
	}
	switch f.Name {
	case "COUNT", "COUNT_BIG":
		agg.Native, n.Null = "count", false
		if len(args) > 0 && args[0].Type.IsLOB() {
			return nil, mserr.InvalidOperandType(args[0].Type.MessageName(), "count")
		}
	case "MIN", "MAX":
		if expr.IsNative(ts[0]) && ts[0].ID != types.DateTimeOffset {
			agg.Native, agg.Distinct = strings.ToLower(f.Name), false
		}
	case "SUM":
		// SQLite's sum of floats compensates the errors of rounding and does not fail on overflow.
		if t.IsInteger() {
			agg.Native, agg.Wrap = "sum", keys.Make(keys.SumInt, keys.TypeText(t))
		}
	case "ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST":
		agg.Native, n.Null = strings.ToLower(f.Name), false
	case "NTILE", "LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE":
		agg.Native = strings.ToLower(f.Name)
		if err := windowArgs(f.Name, n); err != nil {
			return nil, err
		}
	}
	if agg.Native == "" {
		parts := []string{keys.Aggregate, f.Name, keys.TypeText(t), "0"}
		if agg.Distinct {
			parts[3], agg.Distinct = "1", false
		}
		for _, x := range ts {
			parts = append(parts, keys.TypeText(x))
		}
		agg.Key = keys.Make(parts...)
		_, err = keys.AggregateFunc(agg.Key)
	}
	return n, err
}

// windowArgs converts the arguments of NTILE, LAG, LEAD, FIRST_VALUE and LAST_VALUE.
func windowArgs(name string, n *tree.Node) error {
	args := n.Aggregate.Args
	var err error
	if name == "NTILE" {
		args[0], err = expr.CheckedCount(name, args[0])
		return err
	}
	if args[0], err = expr.ConvertImplicit(args[0], n.Type); err != nil {
		return err
	}
	if len(args) > 1 {
		if args[1], err = expr.CheckedCount("LAG", args[1]); err != nil {
			return err
		}
	}
	if len(args) > 2 {
		args[2], err = expr.ConvertImplicit(args[2], n.Type)
	}
	return err
}

// over turns an aggregate into a window function. Error 4112 for a missing ORDER BY.
func (b calls) over(f *builtin.Func, n *tree.Node, e *syntax.FuncCall, l *names.Level, state *names.Aggregation) (*tree.Node, error) {
	if err := b.Meter.Work(len(l.Windows)); err != nil {
		return nil, err
	}
	spec, err := windowSpec(l, e.Over)
	if err != nil {
		return nil, err
	}
	if err := names.CheckElements(max(len(spec.PartitionBy), len(spec.OrderBy))); err != nil {
		return nil, err
	}
	switch {
	case builtin.IsPercentile(f) && len(spec.OrderBy) > 0:
		return nil, mserr.Of(10758, f.Name)
	case builtin.IsPercentile(f) && spec.Frame != nil:
		return nil, mserr.Of(10752, f.Name)
	case builtin.NeedsOrder(f) && len(spec.OrderBy) == 0:
		return nil, mserr.OverOrderRequired(f.Name)
	}
	if e.Distinct {
		return nil, mserr.Of(10759)
	}
	state.InWindow = true
	defer func() { state.InWindow = false }()
	w := &tree.Window{}
	if w.Partition, err = b.Exprs(spec.PartitionBy, l); err != nil {
		return nil, err
	}
	if w.Order, err = b.windowOrder(spec.OrderBy, l); err != nil {
		return nil, err
	}
	if w.Frame, err = b.frame(spec.Frame, len(w.Order) > 0); err != nil {
		return nil, err
	}
	n.Op, n.Aggregate.Window = tree.OpWindow, w
	n.Traits = tree.HasWindow | tree.HasColumn | tree.CanFail
	if e.Nulls == syntax.NullsIgnore {
		return ignoringNulls(f, n)
	}
	return n, nil
}

// ignoringNulls implements IGNORE NULLS of FIRST_VALUE, LAST_VALUE, LAG and LEAD, which SQLite
// lacks: the result is the n-th value that is not NULL, counted from one end of the frame.
func ignoringNulls(f *builtin.Func, n *tree.Node) (*tree.Node, error) {
	args, w := n.Aggregate.Args, n.Aggregate.Window
	offset := int64(1)
	if len(args) > 1 {
		v, ok := args[1].Value.(int64)
		if args[1].Op != tree.OpConst || !ok || v < 1 {
			return nil, mserr.NotSupported("IGNORE NULLS of %s with an offset that is not a positive constant", f.Name)
		}
		offset = v
	}
	switch f.Name {
	case "FIRST_VALUE":
	case "LAST_VALUE":
		offset = -1
	case "LAG":
		offset, w.Frame = -offset, "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
	case "LEAD":
		w.Frame = "ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING"
	default:
		return nil, mserr.SyntaxKeyword("NULLS")
	}
	n.Aggregate.Native, n.Aggregate.Key, n.Aggregate.Args = "", keys.Make(keys.Nth, strconv.FormatInt(offset, 10)), args[:1]
	if len(args) < 3 {
		return n, nil
	}
	return expr.CoalesceOf(n.Type, n, args[2]), nil // a value that is found is never NULL
}

// windowSpec resolves the name of a window defined by the WINDOW clause.
func windowSpec(l *names.Level, o *syntax.Over) (*syntax.Over, error) {
	if o.Window.Name == "" {
		return o, nil
	}
	for _, w := range l.Windows {
		if !strings.EqualFold(w.Name.Name, o.Window.Name) {
			continue
		}
		base := *w.Over
		if base.Window.Name != "" {
			return nil, mserr.NotSupported("a window defined by another window")
		}
		if len(o.PartitionBy) > 0 {
			base.PartitionBy = o.PartitionBy
		}
		if len(o.OrderBy) > 0 {
			base.OrderBy = o.OrderBy
		}
		if o.Frame != nil {
			base.Frame = o.Frame
		}
		return &base, nil
	}
	return nil, mserr.Of(5362, o.Window.Name)
}

// windowOrder binds the ORDER BY of a window or of WITHIN GROUP. Column positions are not allowed
// there (error 5308), nor constants (5309).
func (b calls) windowOrder(items []*syntax.OrderItem, l *names.Level) ([]tree.OrderTerm, error) {
	out := make([]tree.OrderTerm, len(items))
	for i, item := range items {
		n, err := b.Expr(item.X, l)
		if err != nil {
			return nil, err
		}
		if n.Op == tree.OpConst && !names.Column(item.X) {
			if v, ok := n.Value.(int64); ok && n.Type.ID == types.Int && v > 0 {
				return nil, mserr.Of(5308)
			}
			return nil, mserr.Of(5309)
		}
		if err := expr.Sortable(n.Type); err != nil {
			return nil, err
		}
		out[i] = tree.OrderTerm{Node: n, Desc: item.Desc}
	}
	return out, nil
}

// frame returns the SQL of ROWS or RANGE. Errors: 10756 without ORDER BY, 4193 for a frame that
// ends before its start.
func (b calls) frame(f *syntax.Frame, ordered bool) (string, error) {
	if f == nil {
		return "", nil
	}
	if !ordered {
		return "", mserr.Of(10756)
	}
	word := "RANGE"
	if f.Rows {
		word = "ROWS"
	}
	from, err := bound(f.From, f.Rows)
	if err != nil {
		return "", err
	}
	to := "CURRENT ROW"
	if f.To != nil {
		if to, err = bound(*f.To, f.Rows); err != nil {
			return "", err
		}
	}
	if f.To != nil && f.From.Kind > f.To.Kind {
		return "", mserr.Of(4193, boundNames[f.From.Kind], boundNames[f.To.Kind])
	}
	return word + " BETWEEN " + from + " AND " + to, nil
}

// boundNames are the names of the ends of frames in error 4193.
var boundNames = map[syntax.BoundKind]string{
	syntax.UnboundedPreceding: "UNBOUNDED PRECEDING",
	syntax.Preceding:          "... PRECEDING",
	syntax.CurrentRow:         "CURRENT ROW",
	syntax.Following:          "... FOLLOWING",
	syntax.UnboundedFollowing: "UNBOUNDED FOLLOWING",
}

// bound returns the SQL of one end of a frame. Error 4194 for RANGE with a number.
func bound(f syntax.FrameBound, rows bool) (string, error) {
	switch f.Kind {
	case syntax.UnboundedPreceding:
		return "UNBOUNDED PRECEDING", nil
	case syntax.UnboundedFollowing:
		return "UNBOUNDED FOLLOWING", nil
	case syntax.CurrentRow:
		return "CURRENT ROW", nil
	}
	if !rows {
		return "", mserr.Of(4194)
	}
	lit, ok := f.Offset.(*syntax.Literal)
	if !ok || lit.Kind != syntax.IntLit {
		return "", mserr.NotSupported("a window frame whose bound is not a number")
	}
	if f.Kind == syntax.Preceding {
		return lit.Text + " PRECEDING", nil
	}
	return lit.Text + " FOLLOWING", nil
}

// grouping binds GROUPING and GROUPING_ID, whose values depend on the grouping set. Error 8161 for
// an argument that is not a group expression.
func (b calls) grouping(f *builtin.Func, e *syntax.FuncCall, l *names.Level) (*tree.Node, error) {
	state := l.Aggregates()
	state.InArguments = true
	args, err := b.Exprs(e.Args, l)
	state.InArguments = false
	if err != nil {
		return nil, err
	}
	if err := f.CheckCount(len(args)); err != nil {
		return nil, err
	}
	t := types.TinyIntType
	if f.Name == "GROUPING_ID" {
		t = types.IntType
	}
	state.Found = true
	return &tree.Node{Op: tree.OpGrouping, Type: t, Args: args, Traits: tree.HasAgg | tree.HasColumn}, nil
}
