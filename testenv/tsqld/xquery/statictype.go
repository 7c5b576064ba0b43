package xquery

import "slices"

// atomType is the type of an atomic value.
type atomType uint8

// The atomic types. The types from typeLong to typeUnsignedByte are derived from xs:integer.
const (
	typeUntyped atomType = iota + 1
	typeString
	typeBoolean
	typeDecimal
	typeInteger
	typeLong
	typeInt
	typeShort
	typeByte
	typeNonNegative
	typePositive
	typeNonPositive
	typeNegative
	typeUnsignedLong
	typeUnsignedInt
	typeUnsignedShort
	typeUnsignedByte
	typeFloat
	typeDouble
	typeDateTime
	typeDate
	typeTime
	typeBase64
	typeHex
	typeURI
)

// atomNames are the names of the atomic types.
var atomNames = map[atomType]string{
	typeUntyped: "xdt:untypedAtomic", typeString: "xs:string", typeBoolean: "xs:boolean",
	typeDecimal: "xs:decimal", typeInteger: "xs:integer", typeLong: "xs:long", typeInt: "xs:int",
	typeShort: "xs:short", typeByte: "xs:byte", typeNonNegative: "xs:nonNegativeInteger",
	typePositive: "xs:positiveInteger", typeNonPositive: "xs:nonPositiveInteger",
	typeNegative: "xs:negativeInteger", typeUnsignedLong: "xs:unsignedLong",
	typeUnsignedInt: "xs:unsignedInt", typeUnsignedShort: "xs:unsignedShort",
	typeUnsignedByte: "xs:unsignedByte", typeFloat: "xs:float", typeDouble: "xs:double",
	typeDateTime: "xs:dateTime", typeDate: "xs:date", typeTime: "xs:time",
	typeBase64: "xs:base64Binary", typeHex: "xs:hexBinary", typeURI: "xs:anyURI",
}

// atomsByName is the inverse of atomNames.
var atomsByName = func() map[string]atomType {
	m := map[string]atomType{}
	for t, name := range atomNames {
		m[name] = t
	}
	return m
}()

// isInteger reports whether a type is xs:integer or derived from it.
func (t atomType) isInteger() bool { return t >= typeInteger && t <= typeUnsignedByte }

// isExact reports whether a type is xs:decimal or derived from it.
func (t atomType) isExact() bool { return t >= typeDecimal && t <= typeUnsignedByte }

// isNumeric reports whether a type is numeric.
func (t atomType) isNumeric() bool { return t >= typeDecimal && t <= typeDouble }

// isText reports whether values of a type compare as texts.
func (t atomType) isText() bool { return t == typeUntyped || t == typeString || t == typeURI }

// primitive returns the type by which values of a type compare.
func (t atomType) primitive() atomType {
	switch {
	case t.isInteger():
		return typeDecimal
	case t == typeURI:
		return typeString
	}
	return t
}

// count is a number of items.
type count uint8

// The counts that static types distinguish.
const (
	none count = iota
	one
	optional // none or one
	some     // one or more
	many     // any number
)

// mark returns the occurrence indicator of a count, after a blank.
func (c count) mark() string {
	switch c {
	case optional:
		return " ?"
	case some:
		return " +"
	case many:
		return " *"
	}
	return ""
}

// least and most describe a count by numbers; 2 stands for several.
func (c count) bounds() (least, most int) {
	switch c {
	case one:
		return 1, 1
	case optional:
		return 0, 1
	case some:
		return 1, 2
	case many:
		return 0, 2
	}
	return 0, 0
}

// countOf is the inverse of bounds.
func countOf(least, most int) count {
	switch {
	case most == 0:
		return none
	case most == 1 && least == 1:
		return one
	case most == 1:
		return optional
	case least > 0:
		return some
	}
	return many
}

// times returns the count of the results of a step that runs for each item.
func (c count) times(d count) count {
	al, am := c.bounds()
	bl, bm := d.bounds()
	return countOf(min(al*bl, 1), min(am*bm, 2))
}

// plus returns the count of two sequences together.
func (c count) plus(d count) count {
	al, am := c.bounds()
	bl, bm := d.bounds()
	return countOf(min(al+bl, 1), min(am+bm, 2))
}

// either returns the count of one of two sequences.
func (c count) either(d count) count {
	al, am := c.bounds()
	bl, bm := d.bounds()
	return countOf(min(al, bl), max(am, bm))
}

// orNone returns the count of a part of a sequence.
func (c count) orNone() count {
	_, most := c.bounds()
	return countOf(0, most)
}

// isSingle reports whether a sequence has at most one item.
func (c count) isSingle() bool { return c == none || c == one || c == optional }

// itemKind is the kind of the items of a static type.
type itemKind struct {
	node Kind     // 0 for atomic values and for nodes of several kinds
	name string   // of elements and attributes; "" for any
	atom atomType // 0 for nodes
}

// isNode reports whether the items are nodes.
func (k itemKind) isNode() bool { return k.atom == 0 }

// String returns the form of a type in messages, without the occurrence indicator.
func (k itemKind) String() string {
	name := k.name
	if name == "" {
		name = "*"
	}
	switch {
	case k.atom != 0:
		return atomNames[k.atom]
	case k.node == Element:
		return "element(" + name + ",xdt:untyped)"
	case k.node == Attribute:
		return "attribute(" + name + ",xdt:untypedAtomic)"
	case k.node == Text:
		return "text"
	case k.node == Comment:
		return "comment"
	case k.node == Instruction:
		return "processing-instruction"
	case k.node == Document:
		return "document"
	}
	return "node()"
}

// static is the static type of an expression.
type static struct {
	kinds []itemKind // what the items may be; nil for the empty sequence
	count count
	// made is set if the items are constructed XML.
	made bool
}

// emptyType is the type of ().
var emptyType = static{}

// values returns the type of atomic values.
func values(t atomType, c count) static { return static{kinds: []itemKind{{atom: t}}, count: c} }

// nodes returns the type of nodes of a kind; 0 for any.
func nodes(kind Kind, name string, c count) static {
	return static{kinds: []itemKind{{node: kind, name: name}}, count: c}
}

// String returns the form of a type in messages.
func (s static) String() string {
	switch {
	case len(s.kinds) == 0:
		return "empty"
	case len(s.kinds) == 1 && s.kinds[0].node == Document:
		return "document { (element(*,xdt:untyped) ? & text ? & comment ? & processing-instruction ?) * }"
	case len(s.kinds) == 1:
		return s.kinds[0].String() + s.count.mark()
	}
	text := "("
	for i, k := range s.kinds {
		if i > 0 {
			text += " | "
		}
		text += k.String()
	}
	return text + ")" + s.count.mark()
}

// isNodes reports whether all items are nodes.
func (s static) isNodes() bool {
	return !slices.ContainsFunc(s.kinds, func(k itemKind) bool { return !k.isNode() })
}

// isAtomic reports whether all items are atomic values.
func (s static) isAtomic() bool { return !slices.ContainsFunc(s.kinds, itemKind.isNode) }

// isOnly reports whether the items are nodes of one kind.
func (s static) isOnly(k Kind) bool {
	return len(s.kinds) > 0 && !slices.ContainsFunc(s.kinds, func(x itemKind) bool { return x.node != k })
}

// with returns a type with another count.
func (s static) with(c count) static {
	s.count = c
	return s
}

// union returns the kinds of two types together, with the given count.
func union(a, b static, c count) static {
	r := static{kinds: slices.Clone(a.kinds), count: c, made: a.made || b.made}
	for _, k := range b.kinds {
		if !slices.Contains(r.kinds, k) {
			r.kinds = append(r.kinds, k)
		}
	}
	return r
}

// atoms returns the type of the atomized items: data() of nodes.
func (s static) atoms() static {
	r := static{count: s.count}
	for _, k := range s.kinds {
		switch {
		case k.atom != 0:
		case k.node == Comment || k.node == Instruction:
			k = itemKind{atom: typeString}
		default:
			k = itemKind{atom: typeUntyped}
		}
		if !slices.Contains(r.kinds, k) {
			r.kinds = append(r.kinds, k)
		}
	}
	return r
}

// atom returns the single atomic type of an atomized type; 0 for the empty sequence. For several
// types it returns their common one: numbers promote, and others are untyped.
func (s static) atom() atomType {
	if len(s.kinds) == 0 {
		return 0
	}
	t := s.kinds[0].atom
	for _, k := range s.kinds[1:] {
		switch {
		case t.isNumeric() && k.atom.isNumeric():
			t = promote(t, k.atom)
		case t != k.atom:
			t = typeUntyped
		}
	}
	return t
}

// promote returns the type of arithmetic over two numeric types.
func promote(a, b atomType) atomType {
	switch {
	case a == typeDouble || b == typeDouble:
		return typeDouble
	case a == typeFloat || b == typeFloat:
		return typeFloat
	case a == typeDecimal || b == typeDecimal:
		return typeDecimal
	}
	return typeInteger
}
