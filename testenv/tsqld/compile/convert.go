package compile

import (
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// typeName returns the name of a type for messages; a bare NULL has the type name NULL.
func typeName(t types.Type) string {
	if t.ID == types.Null {
		return "NULL"
	}
	return t.Name()
}

// convertImplicit converts a node to a type as an assignment does. Errors: 206, 257, 457.
func convertImplicit(n *node, to types.Type) (*node, error) {
	if err := checkCollation(n, to); err != nil {
		return nil, err
	}
	return convertOperand(n, to)
}

// convertOperand converts an operand implicitly. Unlike convertImplicit it accepts a value without
// a collation, because [combine] decides the label of the operation's result. Errors: 206, 257.
func convertOperand(n *node, to types.Type) (*node, error) {
	if n.typ == to {
		return n, nil
	}
	if n.typ.ID != types.Null {
		if err := types.CheckImplicit(n.typ, to); err != nil {
			return nil, err
		}
	}
	return convert(n, to, types.NoStyle, false)
}

// convert returns the conversion of a node. A constant is converted at once if the conversion
// succeeds.
func convert(n *node, to types.Type, style int, try bool) (*node, error) {
	if n.isNullConst() {
		return nullOf(to), nil
	}
	if n.typ.ID == types.Null {
		n.imply(to)
		return n.retyped(to), nil
	}
	if style == types.NoStyle && sameForm(n.typ, to) {
		return n.retyped(to), nil
	}
	if n.isConst() && !try && keys.ValueBytes(n.val) <= keys.MaxFoldedBytes {
		if v, err := types.ConvertIn(n.val, n.typ, to, style, n.locale); err == nil {
			r := constant(v, to)
			r.label = n.label
			return r, nil
		}
	}
	if style == types.NoStyle && !try && to.ID == types.Float && n.typ.IsInteger() {
		return build(opReal, to, n), nil
	}
	word := keys.Convert
	if try {
		word = keys.TryConvert
	}
	key := keys.Make(word, keys.TypeText(n.typ), keys.TypeText(to), strconv.Itoa(style))
	if dependsOnLocale(n.typ, to) {
		key = keys.InLocale(n.locale, key)
	}
	r, err := call(key, to, n)
	if err != nil {
		return nil, err
	}
	r.locale = n.locale
	r.null = n.null || try
	if n.typ.IsCharacter() && to.IsCharacter() {
		r.label = n.label
	}
	return r, nil
}

// dependsOnLocale reports whether a conversion reads or writes the text of a date, whose form
// depends on the locale.
func dependsOnLocale(from, to types.Type) bool {
	return from.ID == types.Variant || to.IsTemporal() && from.IsCharacter() || from.IsTemporal() && to.IsCharacter()
}

// sameForm reports whether every value of from is a valid value of to without conversion.
func sameForm(from, to types.Type) bool {
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

// sameText is sameForm for character types. It is false if the conversion truncates, pads, or loses
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

// unifyCodePages converts char and varchar operands to the code page of the resulting collation, so
// that their lengths count the same bytes. It leaves collation conflicts to its callers.
func unifyCodePages(nodes ...*node) ([]*node, error) {
	pages := 0
	for i, n := range nodes {
		if i > 0 && n.typ.Collation.CodePage() != nodes[0].typ.Collation.CodePage() {
			pages++
		}
	}
	if pages == 0 {
		return nodes, nil
	}
	c, err := collationOf("", nodes...)
	if err != nil {
		return nodes, nil
	}
	out := make([]*node, len(nodes))
	for i, n := range nodes {
		if out[i], err = toCodePage(n, c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// toCodePage converts a char or varchar value to the code page of a collation and returns other
// values unchanged. A character of code page 1252 takes up to three bytes in UTF-8.
func toCodePage(n *node, c types.Collation) (*node, error) {
	t := n.typ
	if !t.IsCharacter() || t.IsUnicode() || t.IsLOB() || t.Collation.CodePage() == c.CodePage() {
		return n, nil
	}
	if c.IsUTF8() && t.Length != types.Max {
		t = types.VarCharOf(3 * t.Length)
	}
	t.Collation = c
	return convert(n, t, types.NoStyle, false)
}

// unify converts nodes in place to their common type and returns that type and the label of the
// result.
func unify(operation string, nodes []*node) (types.Type, label, error) {
	same, err := unifyCodePages(nodes...)
	if err != nil {
		return types.Type{}, labelCoercible, err
	}
	copy(nodes, same)
	ts := make([]types.Type, len(nodes))
	for i, n := range nodes {
		ts[i] = n.typ
	}
	t, err := types.Common(ts...)
	l := labelCoercible
	if err == nil && t.IsCharacter() {
		t.Collation, l, err = combine(operation, nodes...)
	}
	for i := range nodes {
		if err != nil {
			return t, l, err
		}
		nodes[i], err = convertOperand(nodes[i], t)
	}
	return t, l, err
}

// unifyOperands converts the operands of a comparison to a common type. operator is the name of the
// operator in messages. The type of the first result has the collation of the comparison.
func unifyOperands(x, y *node, operator string) (*node, *node, error) {
	same, err := unifyCodePages(x, y)
	if err != nil {
		return nil, nil, err
	}
	x, y = same[0], same[1]
	t, err := types.CompareType(x.typ, y.typ, operator)
	if err != nil {
		return nil, nil, err
	}
	if t.IsCharacter() {
		if t.Collation, err = collationOf(operator, x, y); err != nil {
			return nil, nil, err
		}
	}
	if x, err = convertOperand(x, t); err != nil {
		return nil, nil, err
	}
	y, err = convertOperand(y, t)
	return x, y, err
}
