package expr

import (
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// TypeName returns the name of a type for messages; a bare NULL has the type name NULL.
func TypeName(t types.Type) string {
	if t.ID == types.Null {
		return "NULL"
	}
	return t.MessageName()
}

// ConvertImplicit converts a node to a type as an assignment does. Errors: 206, 257, 457.
func ConvertImplicit(n *tree.Node, to types.Type) (*tree.Node, error) {
	if err := CheckCollation(n, to); err != nil {
		return nil, err
	}
	return ConvertOperand(n, to)
}

// ConvertOperand converts an operand implicitly. Unlike ConvertImplicit it accepts a value without
// a collation, because [Combine] decides the label of the operation's result. Errors: 206, 257.
func ConvertOperand(n *tree.Node, to types.Type) (*tree.Node, error) {
	if n.Type == to {
		return n, nil
	}
	if n.Type.ID != types.Null {
		if err := types.CheckImplicit(n.Type, to); err != nil {
			return nil, err
		}
	}
	return Convert(n, to, types.NoStyle, false)
}

// Convert returns the conversion of a node. A constant is converted at once if the conversion
// succeeds.
func Convert(n *tree.Node, to types.Type, style int, try bool) (*tree.Node, error) {
	if n.IsNullConst() {
		return tree.NullOf(to), nil
	}
	if n.Type.ID == types.Null {
		imply(n, to)
		return n.Retyped(to), nil
	}
	if style == types.NoStyle && SameForm(n.Type, to) {
		return n.Retyped(to), nil
	}
	if n.IsConst() && !try && keys.ValueBytes(n.Value) <= keys.MaxFoldedBytes {
		if v, err := types.ConvertIn(n.Value, n.Type, to, style, n.Locale); err == nil {
			r := tree.Constant(v, to)
			r.Label = n.Label
			return r, nil
		}
	}
	if style == types.NoStyle && !try && to.ID == types.Float && n.Type.IsInteger() {
		return tree.Build(tree.OpReal, to, n), nil
	}
	word := keys.Convert
	if try {
		word = keys.TryConvert
	}
	key := keys.Make(word, keys.TypeText(n.Type), keys.TypeText(to), strconv.Itoa(style))
	if DependsOnLocale(n.Type, to) {
		key = keys.InLocale(n.Locale, key)
	}
	r, err := tree.Call(key, to, n)
	if err != nil {
		return nil, err
	}
	r.Locale = n.Locale
	r.Null = n.Null || try
	if n.Type.IsCharacter() && to.IsCharacter() {
		r.Label = n.Label
	}
	return r, nil
}

// DependsOnLocale reports whether a conversion reads or writes the text of a date, whose form
// depends on the locale.
func DependsOnLocale(from, to types.Type) bool {
	return from.ID == types.Variant || to.IsTemporal() && from.IsCharacter() || from.IsTemporal() && to.IsCharacter()
}

// SameForm reports whether every value of from is a valid value of to without conversion.
func SameForm(from, to types.Type) bool {
	if from == to {
		return true
	}
	switch {
	case from.IsInteger() && to.IsInteger():
		return to.ID != types.Bit && integerRank(from.ID) <= integerRank(to.ID)
	case to.ID == types.Decimal && !to.IsDecimalText() && to.Scale == 0 && from.IsInteger():
		return integerDigits(from.ID) <= int(to.Precision)
	case from.ID == types.Decimal && to.ID == types.Decimal:
		return from.Scale == to.Scale && from.Precision <= to.Precision && from.IsDecimalText() == to.IsDecimalText()
	case from.ID == types.SmallMoney && to.ID == types.Money, from.ID == types.Real && to.ID == types.Float:
		return true
	case from.IsCharacter() && to.IsCharacter():
		return sameText(from, to)
	case from.IsBinary() && to.ID == types.VarBinary, from.ID == types.Image && to.ID == types.VarBinary:
		return longEnough(from, to)
	case from.ID == types.RowVersion && to.IsBinary():
		return to.Length == 8 || to.ID == types.VarBinary && longEnough(types.VarBinaryOf(8), to)
	case from.ID == types.Date && to.ID == types.DateTime2:
		return true
	case from.ID == types.SmallDateTime && (to.ID == types.DateTime || to.ID == types.DateTime2):
		return true
	case from.ID == types.DateTime && to.ID == types.DateTime2:
		return to.Scale == 7
	case from.ID == to.ID && (from.ID == types.DateTime2 || from.ID == types.Time || from.ID == types.DateTimeOffset):
		return from.Scale <= to.Scale
	}
	return false
}

// sameText is SameForm for character types. It is false if the conversion truncates, pads, or loses
// characters that the code page lacks.
func sameText(from, to types.Type) bool {
	if to.IsLOB() != from.IsLOB() && to.IsLOB() {
		return false
	}
	if !to.IsUnicode() && (from.IsUnicode() || from.Collation.CodePage() != to.Collation.CodePage()) {
		return to.Collation.IsUTF8() && to.Length == types.Max
	}
	if to.ID == types.Char || to.ID == types.NChar {
		return from.Length == to.Length && (from.ID == types.Char || from.ID == types.NChar)
	}
	return longEnough(from, to)
}

// longEnough reports whether to has room for every value of from.
func longEnough(from, to types.Type) bool {
	return to.Length == types.Max || !from.IsLOB() && from.Length != types.Max && from.Length <= to.Length
}

// integerRank returns the position of an integer type in the order of their ranges.
func integerRank(id types.ID) int {
	switch id {
	case types.Bit:
		return 0
	case types.TinyInt:
		return 1
	case types.SmallInt:
		return 2
	case types.Int:
		return 3
	}
	return 4
}

// integerDigits returns the maximum number of decimal digits of an integer type.
func integerDigits(id types.ID) int { return [...]int{1, 3, 5, 10, 19}[integerRank(id)] }

// UnifyCodePages converts char and varchar operands to the code page of the resulting collation, so
// that their lengths count the same bytes. It leaves collation conflicts to its callers.
func UnifyCodePages(nodes ...*tree.Node) ([]*tree.Node, error) {
	pages := 0
	for i, n := range nodes {
		if i > 0 && n.Type.Collation.CodePage() != nodes[0].Type.Collation.CodePage() {
			pages++
		}
	}
	if pages == 0 {
		return nodes, nil
	}
	c, err := CollationOf("", nodes...)
	if err != nil {
		return nodes, nil
	}
	out := make([]*tree.Node, len(nodes))
	for i, n := range nodes {
		if out[i], err = ToCodePage(n, c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ToCodePage converts a char or varchar value to the code page of a collation and returns other
// values unchanged. A character of code page 1252 takes up to three bytes in UTF-8.
func ToCodePage(n *tree.Node, c types.Collation) (*tree.Node, error) {
	t := n.Type
	if !t.IsCharacter() || t.IsUnicode() || t.IsLOB() || t.Collation.CodePage() == c.CodePage() {
		return n, nil
	}
	if c.IsUTF8() && t.Length != types.Max {
		t = types.VarCharOf(3 * t.Length)
	}
	t.Collation = c
	return Convert(n, t, types.NoStyle, false)
}

// Unify converts nodes in place to their common type and returns that type and the label of the
// result.
func Unify(operation string, nodes []*tree.Node) (types.Type, tree.Label, error) {
	same, err := UnifyCodePages(nodes...)
	if err != nil {
		return types.Type{}, tree.LabelCoercible, err
	}
	copy(nodes, same)
	ts := make([]types.Type, len(nodes))
	for i, n := range nodes {
		ts[i] = n.Type
	}
	t, err := types.Common(ts...)
	l := tree.LabelCoercible
	if err == nil && t.IsCharacter() {
		t.Collation, l, err = Combine(operation, nodes...)
	}
	for i := range nodes {
		if err != nil {
			return t, l, err
		}
		nodes[i], err = ConvertOperand(nodes[i], t)
	}
	return t, l, err
}

// unifyOperands converts the operands of a comparison to a common type. operator is the name of the
// operator in messages. The type of the first result has the collation of the comparison.
func unifyOperands(x, y *tree.Node, operator string) (*tree.Node, *tree.Node, error) {
	same, err := UnifyCodePages(x, y)
	if err != nil {
		return nil, nil, err
	}
	x, y = same[0], same[1]
	t, err := types.CompareType(x.Type, y.Type, operator)
	if err != nil {
		return nil, nil, err
	}
	if t.IsCharacter() {
		if t.Collation, err = CollationOf(operator, x, y); err != nil {
			return nil, nil, err
		}
	}
	if x, err = ConvertOperand(x, t); err != nil {
		return nil, nil, err
	}
	y, err = ConvertOperand(y, t)
	return x, y, err
}
