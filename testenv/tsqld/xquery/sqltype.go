package xquery

import (
	"encoding/base64"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// sqlType is the type of what sql:variable or sql:column names.
type sqlType struct{ t types.Type }

// isXML reports whether the type is xml.
func (s sqlType) isXML() bool { return s.t.ID == types.XML }

// sqlAtoms are the types that values of SQL types have in a query ("XQuery extension functions").
var sqlAtoms = map[types.ID]atomType{
	types.Bit: typeBoolean, types.TinyInt: typeUnsignedByte, types.SmallInt: typeShort, types.Int: typeInt, types.BigInt: typeLong,
	types.Decimal: typeDecimal, types.Money: typeDecimal, types.SmallMoney: typeDecimal,
	types.Float: typeDouble, types.Real: typeFloat,
	types.Char: typeString, types.VarChar: typeString, types.NChar: typeString, types.NVarChar: typeString, types.UniqueIdentifier: typeString,
	types.Binary: typeBase64, types.VarBinary: typeBase64, types.RowVersion: typeBase64,
	types.Date: typeDate, types.Time: typeTime, types.DateTime: typeDateTime, types.SmallDateTime: typeDateTime,
	types.DateTime2: typeDateTime, types.DateTimeOffset: typeDateTime,
}

// atom returns the type that values have in a query; 0 for none.
func (s sqlType) atom() atomType { return sqlAtoms[s.t.ID] }

// isoStyle is the style of CONVERT for dates in ISO 8601.
const isoStyle = 126

// value returns a value of the type as an atomic value.
func (s sqlType) value(v types.Value, t atomType) (*atom, error) {
	if b, ok := v.([]byte); ok && t == typeBase64 {
		return textAtom(t, base64.StdEncoding.EncodeToString(b)), nil
	}
	style := types.NoStyle
	switch {
	case s.t.IsTemporal():
		style = isoStyle
	case t == typeDouble || t == typeFloat:
		style = 3 // all digits
	case s.t.ID == types.Money || s.t.ID == types.SmallMoney:
		style = 2 // four fractional digits
	}
	x, err := types.Convert(v, s.t, types.NVarCharMax, style)
	if err != nil {
		return nil, err
	}
	text, _ := x.(string)
	if t == typeDateTime && !strings.Contains(text, ".") && s.t.ID == types.DateTime {
		text += ".000"
	}
	a, ok := cast(textAtom(typeString, text), t)
	if !ok {
		return nil, nil
	}
	return a, nil
}
