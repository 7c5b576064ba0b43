package xquery

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// item is a *Node or an *atom.
type item interface{ isItem() }

func (*Node) isItem() {}
func (*atom) isItem() {}

// atom is an atomic value.
type atom struct {
	typ   atomType
	text  string    // of texts, dates (as written) and binary values (canonical)
	float float64   // xs:double and xs:float
	exact *big.Rat  // xs:decimal and the types derived from it
	truth bool      // xs:boolean
	when  time.Time // dates and times, in UTC
}

// textAtom returns a value of a type whose values are texts.
func textAtom(t atomType, s string) *atom { return &atom{typ: t, text: s} }

// boolAtom returns an xs:boolean.
func boolAtom(b bool) *atom { return &atom{typ: typeBoolean, truth: b} }

// intAtom returns an xs:integer.
func intAtom(n int) *atom { return &atom{typ: typeInteger, exact: new(big.Rat).SetInt64(int64(n))} }

// floatAtom returns an xs:double or xs:float.
func floatAtom(t atomType, f float64) *atom {
	if t == typeFloat {
		f = float64(float32(f))
	}
	return &atom{typ: t, float: f}
}

// number returns a numeric value as a float.
func (a *atom) number() float64 {
	if a.typ.isExact() {
		f, _ := a.exact.Float64()
		return f
	}
	return a.float
}

// String returns the text of a value, in the form of fn:string.
func (a *atom) String() string {
	switch {
	case a.typ == typeBoolean:
		return strconv.FormatBool(a.truth)
	case a.typ.isExact():
		return exactText(a.exact)
	case a.typ == typeDouble:
		return floatText(a.float, 15)
	case a.typ == typeFloat:
		return floatText(a.float, 7)
	}
	return a.text
}

// fractionDigits is the number of fractional digits of an xs:decimal, whose type is numeric(38,
// 10).
const fractionDigits = 10

// exactText returns a decimal without trailing zeros.
func exactText(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	return strings.TrimSuffix(strings.TrimRight(r.FloatString(fractionDigits), "0"), ".")
}

// floatText returns the text of a float with at most the given number of digits: plain from 1e-6 to
// 1e6, otherwise with an exponent.
func floatText(f float64, precision int) string {
	switch {
	case math.IsInf(f, 1):
		return "INF"
	case math.IsInf(f, -1):
		return "-INF"
	case math.IsNaN(f):
		return "NaN"
	}
	s := strconv.FormatFloat(f, 'e', precision-1, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	e, err := strconv.Atoi(exponent)
	if err != nil {
		return s
	}
	if size := math.Abs(f); size >= 1e-6 && size < 1e6 {
		s = strconv.FormatFloat(f, 'f', max(precision-1-e, 0), 64)
		if strings.Contains(s, ".") {
			s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
		}
		return s
	}
	mantissa = strings.TrimRight(mantissa, "0")
	if strings.HasSuffix(mantissa, ".") {
		mantissa += "0"
	}
	return mantissa + "E" + strconv.Itoa(e)
}

// data returns the atomized value of an item.
func data(x item) *atom {
	switch x := x.(type) {
	case *atom:
		return x
	case *Node:
		if x.kind == Comment || x.kind == Instruction {
			return textAtom(typeString, x.text)
		}
		return textAtom(typeUntyped, x.stringValue())
	}
	return nil
}

// cast converts a value to a type. ok is false if the value has no such form.
func cast(a *atom, t atomType) (r *atom, ok bool) {
	switch {
	case a.typ == t:
		return a, true
	case t == typeString || t == typeUntyped || t == typeURI:
		return textAtom(t, a.String()), true
	case t == typeBoolean:
		return castBoolean(a)
	case t.isExact():
		return castExact(a, t)
	case t == typeDouble || t == typeFloat:
		return castFloat(a, t)
	case t == typeDateTime || t == typeDate || t == typeTime:
		return castTime(a, t)
	case t == typeBase64 || t == typeHex:
		return castBinary(a, t)
	}
	return nil, false
}

// castBoolean converts to xs:boolean.
func castBoolean(a *atom) (*atom, bool) {
	switch {
	case a.typ.isExact():
		return boolAtom(a.exact.Sign() != 0), true
	case a.typ.isNumeric():
		return boolAtom(a.float != 0 && !math.IsNaN(a.float)), true
	case !a.typ.isText():
		return nil, false
	}
	switch strings.TrimSpace(a.text) {
	case "true", "1":
		return boolAtom(true), true
	case "false", "0":
		return boolAtom(false), true
	}
	return nil, false
}

// integerRanges are the least and greatest values of the derived types; "" for none.
var integerRanges = map[atomType][2]string{
	typeLong: {"-9223372036854775808", "9223372036854775807"}, typeInt: {"-2147483648", "2147483647"},
	typeShort: {"-32768", "32767"}, typeByte: {"-128", "127"}, typeNonNegative: {"0", ""}, typePositive: {"1", ""},
	typeNonPositive: {"", "0"}, typeNegative: {"", "-1"}, typeUnsignedLong: {"0", "18446744073709551615"},
	typeUnsignedInt: {"0", "4294967295"}, typeUnsignedShort: {"0", "65535"}, typeUnsignedByte: {"0", "255"},
}

// maxExact is the least number with more than 28 integer digits, which xs:decimal does not have.
var maxExact = new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(28), nil))

// castExact converts to xs:decimal or a type derived from it. Integers are truncated.
func castExact(a *atom, t atomType) (*atom, bool) {
	var v *big.Rat
	switch {
	case a.typ == typeBoolean:
		v = new(big.Rat)
		if a.truth {
			v.SetInt64(1)
		}
	case a.typ.isExact():
		v = a.exact
	case a.typ.isNumeric():
		if v = new(big.Rat).SetFloat64(a.float); v == nil {
			return nil, false
		}
	case a.typ.isText():
		var ok bool
		if v, ok = parseExact(a.text, t.isInteger()); !ok {
			return nil, false
		}
	default:
		return nil, false
	}
	if t.isInteger() {
		v = new(big.Rat).SetInt(new(big.Int).Quo(v.Num(), v.Denom()))
	} else {
		v = rounded(v, fractionDigits)
	}
	if new(big.Rat).Abs(v).Cmp(maxExact) >= 0 || !inRange(v, integerRanges[t]) {
		return nil, false
	}
	return &atom{typ: t, exact: v}, true
}

// inRange reports whether a value is in a range.
func inRange(v *big.Rat, bounds [2]string) bool {
	for i, s := range bounds {
		if s == "" {
			continue
		}
		limit, _ := new(big.Rat).SetString(s)
		if c := v.Cmp(limit); i == 0 && c < 0 || i == 1 && c > 0 {
			return false
		}
	}
	return true
}

// rounded rounds half away from zero.
func rounded(r *big.Rat, places int) *big.Rat {
	if r.IsInt() {
		return r
	}
	v, _ := new(big.Rat).SetString(r.FloatString(places))
	return v
}

// maxNumberText is the maximum length of the text of a number. Longer ones are no numbers, because
// their value would be out of range.
const maxNumberText = 400

// parseExact parses digits with an optional sign and point.
func parseExact(s string, integer bool) (*big.Rat, bool) {
	s = strings.TrimSpace(s)
	unsigned := strings.TrimLeft(s, "+-")
	if len(s)-len(unsigned) > 1 || len(s) > maxNumberText || strings.Trim(unsigned, ".") == "" {
		return nil, false
	}
	if strings.Trim(unsigned, "0123456789.") != "" || strings.Count(unsigned, ".") > 1 ||
		integer && strings.Contains(unsigned, ".") {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

// castFloat converts to xs:double or xs:float.
func castFloat(a *atom, t atomType) (*atom, bool) {
	switch {
	case a.typ == typeBoolean:
		if a.truth {
			return floatAtom(t, 1), true
		}
		return floatAtom(t, 0), true
	case a.typ.isNumeric():
		return floatAtom(t, a.number()), true
	case !a.typ.isText():
		return nil, false
	}
	s := strings.TrimSpace(a.text)
	switch s {
	case "INF":
		return floatAtom(t, math.Inf(1)), true
	case "-INF":
		return floatAtom(t, math.Inf(-1)), true
	}
	if s == "" || len(s) > maxNumberText || strings.Trim(s, "0123456789.eE+-") != "" {
		return nil, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, false
	}
	return floatAtom(t, f), true
}

// timeForms are the forms of dates and times, without the zone.
var timeForms = map[atomType]string{
	typeDateTime: "2006-01-02T15:04:05.999999999", typeDate: "2006-01-02", typeTime: "15:04:05.999999999",
}

// castTime converts to a date or time.
func castTime(a *atom, t atomType) (*atom, bool) {
	s := strings.TrimSpace(a.String())
	switch {
	case a.typ == typeDateTime && t == typeDate:
		date, _, _ := strings.Cut(s, "T")
		s = date + zoneOf(s)
	case a.typ == typeDateTime && t == typeTime:
		_, s, _ = strings.Cut(s, "T")
	case a.typ == typeDate && t == typeDateTime:
		zone := zoneOf(s)
		s = strings.TrimSuffix(s, zone) + "T00:00:00" + zone
	case !a.typ.isText():
		return nil, false
	}
	zone := zoneOf(s)
	form := timeForms[t]
	switch zone {
	case "":
	case "Z":
		form += "Z"
	default:
		form += "-07:00"
	}
	v, err := time.Parse(form, s)
	if err != nil {
		return nil, false
	}
	return &atom{typ: t, text: s, when: v.UTC()}, true
}

// zoneOf returns the zone at the end of a date or time.
func zoneOf(s string) string {
	if strings.HasSuffix(s, "Z") {
		return "Z"
	}
	if n := len(s) - len("+00:00"); n > 0 && (s[n] == '+' || s[n] == '-') && s[n+3] == ':' {
		return s[n:]
	}
	return ""
}

// bytes decodes the text of a value, in hexadecimal digits or base64.
func (a *atom) bytes(inHex bool) (b []byte, ok bool) {
	text := strings.Join(strings.Fields(a.String()), "")
	decode := base64.StdEncoding.DecodeString
	if inHex {
		decode = hex.DecodeString
	}
	b, err := decode(text)
	return b, err == nil
}

// castBinary converts to xs:base64Binary or xs:hexBinary.
func castBinary(a *atom, t atomType) (*atom, bool) {
	if a.typ != typeHex && a.typ != typeBase64 && !a.typ.isText() {
		return nil, false
	}
	b, ok := a.bytes(a.typ == typeHex || a.typ.isText() && t == typeHex)
	if !ok {
		return nil, false
	}
	if t == typeHex {
		return textAtom(t, strings.ToUpper(hex.EncodeToString(b))), true
	}
	return textAtom(t, base64.StdEncoding.EncodeToString(b)), true
}

// compareAtoms compares two values of types that compare with each other. ok is false if one of
// them has no form in the type of the comparison, or is not a number.
func compareAtoms(a, b *atom) (c int, ok bool) {
	t := comparisonType(a.typ, b.typ)
	if a, ok = cast(a, t); !ok {
		return 0, false
	}
	if b, ok = cast(b, t); !ok {
		return 0, false
	}
	switch {
	case t == typeBoolean:
		return cmp.Compare(types.BitOf(a.truth), types.BitOf(b.truth)), true
	case t.isExact():
		return a.exact.Cmp(b.exact), true
	case t.isNumeric():
		return cmp.Compare(a.float, b.float), !math.IsNaN(a.float) && !math.IsNaN(b.float)
	case t == typeDateTime || t == typeDate || t == typeTime:
		return a.when.Compare(b.when), true
	}
	return strings.Compare(a.text, b.text), true
}

// comparisonType returns the type in which values of two types compare; 0 if they do not.
func comparisonType(a, b atomType) atomType {
	switch {
	case a.isText() && b.isText():
		return typeString
	case a == typeUntyped && b.isNumeric(), b == typeUntyped && a.isNumeric():
		return typeDouble
	case a == typeUntyped:
		return b
	case b == typeUntyped:
		return a
	case a.isNumeric() && b.isNumeric():
		if t := promote(a, b); t != typeInteger {
			return t
		}
		return typeDecimal
	case a.primitive() == b.primitive():
		return a.primitive()
	}
	return 0
}
