package types

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types/xmltext"
)

// Convert computes CAST(v AS to), or CONVERT(to, v, style); style is NoStyle for a CAST. It also
// serves implicit conversions. It checks only that a CAST is allowed (error 529); [CheckImplicit]
// and [CheckExplicit] decide whether an expression may be converted.
//
// NULL stays NULL. Texts and bytes that are too long are truncated without an error; a caller that
// stores into a column must call [Truncates] first. The result has the Go type of to, and its
// padding if the type is fixed.
func Convert(v Value, from, to Type, style int) (Value, error) {
	return ConvertIn(v, from, to, style, Locale{})
}

// ConvertIn is Convert with the locale of a session.
func ConvertIn(v Value, from, to Type, style int, in Locale) (Value, error) {
	if v == nil {
		return nil, nil
	}
	if from == to && style == NoStyle {
		return v, nil
	}
	if from.ID == Variant && to.ID != Variant {
		inner, x, err := VariantUnpack(v)
		if err != nil {
			return nil, err
		}
		if to.IsLOB() || to.ID == XML || to.ID == RowVersion {
			return nil, mserr.ExplicitConversion(from.MessageName(), to.MessageName())
		}
		return ConvertIn(x, inner, to, style, in)
	}
	if err := CheckExplicit(from, to); err != nil {
		return nil, err
	}
	switch {
	case to.ID == Variant:
		return VariantPack(v, from)
	case to.IsCharacter():
		return toCharacter(v, from, to, style, in)
	case to.IsBinary(), to.ID == Image, to.ID == RowVersion:
		return toBinary(v, from, to, style)
	case to.ID == UniqueIdentifier:
		return toGUID(v, from)
	case to.ID == XML:
		return toXML(v, from, style)
	case to.IsTemporal():
		return toTemporal(v, from, to, style, in)
	}
	// A number.
	switch {
	case from.IsNumber():
		return convertNumber(v, from, to)
	case from.IsCharacter():
		s, _ := v.(string)
		return textToNumber(s, from, to)
	case from.IsTemporal():
		return temporalToNumber(v, from, to)
	default:
		b, _ := v.([]byte)
		return binaryToNumber(b, from, to)
	}
}

// TryConvert computes TRY_CAST and TRY_CONVERT: NULL if the conversion fails. A pair of types
// without a conversion is still error 529, as in SQL Server.
func TryConvert(v Value, from, to Type, style int, in Locale) (Value, error) {
	if from.ID != Null {
		if err := CheckExplicit(from, to); err != nil {
			return nil, err
		}
	}
	r, err := ConvertIn(v, from, to, style, in)
	var e *mserr.Error
	if errors.As(err, &e) {
		return nil, nil
	}
	return r, err
}

// Truncates reports whether storing v, a value of type from, in a column of type to would lose
// bytes, or characters other than trailing blanks. The caller raises error 2628. The result is
// false for types that are neither character nor binary.
func Truncates(v Value, from, to Type) bool {
	if to.Length == Max || to.Length <= 0 {
		return false
	}
	switch v := v.(type) {
	case string:
		if !to.IsString() || !from.IsCharacter() || len(v) <= to.Length {
			return false
		}
		return to.Size(TrimBlanks(v)) > to.Length
	case []byte:
		if !to.IsBinary() || !(from.IsBinary() || from.ID == Image) {
			return false
		}
		return len(v) > to.Length
	}
	return false
}

// fitText truncates or pads a text to the length of a character type.
func fitText(s string, to Type) string {
	if !to.IsUnicode() {
		s = narrow(s, to.Collation)
	}
	if to.Length == Max || to.IsLOB() {
		return s
	}
	s = to.Cut(s, to.Length)
	if to.ID == Char || to.ID == NChar {
		return s + strings.Repeat(" ", to.Length-to.Size(s))
	}
	return s
}

// fitBytes truncates or pads bytes on the right to the length of a binary type.
func fitBytes(b []byte, to Type) []byte {
	n := to.Length
	switch {
	case to.ID == Image, n == Max:
		return b
	case to.ID == RowVersion:
		n = 8
	case to.ID == VarBinary:
		return b[:min(len(b), n)]
	}
	if len(b) >= n {
		return b[:n]
	}
	out := make([]byte, n)
	copy(out, b)
	return out
}

// toCharacter prints v. A number that does not fit is an error, except that an integer becomes '*'
// in char and varchar.
func toCharacter(v Value, from, to Type, style int, in Locale) (Value, error) {
	room := to.Length
	if room == Max || to.IsLOB() {
		room = 1 << 30
	}
	switch {
	case from.IsCharacter(), from.ID == XML:
		s, _ := v.(string)
		return fitText(s, to), nil
	case from.IsNumber():
		s := FormatNumber(v, from, style)
		if len(s) <= room {
			return fitText(s, to), nil
		}
		switch {
		case from.IsInteger() && from.ID != BigInt && !to.IsUnicode():
			return fitText("*", to), nil
		case from.IsMoney():
			return nil, mserr.MoneySpace(from.Name(), to.Name())
		case from.IsApprox() && !to.IsUnicode():
			return nil, mserr.Overflow232(to.Name(), v.(float64))
		case from.IsInteger(), from.IsApprox():
			return nil, mserr.ArithmeticOverflow("expression", to.Name())
		}
		return nil, mserr.ArithmeticOverflow(runtimeName(from), to.Name()).WithState(5)
	case from.IsTemporal():
		s, err := formatClock(v, from, style, LanguageOf(in))
		if err != nil {
			return nil, err
		}
		return fitText(s, to), nil
	case from.ID == UniqueIdentifier:
		if room < 36 {
			if to.IsUnicode() {
				return nil, mserr.ArithmeticOverflow("expression", to.Name())
			}
			return nil, mserr.GUIDSpace()
		}
		b, _ := v.([]byte)
		return fitText(FormatGUID(b), to), nil
	}
	b, _ := v.([]byte)
	return binaryToText(b, from, to, style)
}

// binaryToText prints bytes: style 0 as characters, 1 as hexadecimal digits after 0x, 2 as
// hexadecimal digits. A type that is too short gets the digits of whole bytes. Error: 9809 for
// another style. Source: SQL Server 2022, recorded.
func binaryToText(b []byte, from, to Type, style int) (Value, error) {
	switch style {
	case 1, 2:
		s := strings.ToUpper(hex.EncodeToString(b))
		if style == 1 {
			s = "0x" + s
		}
		if to.Length != Max && !to.IsLOB() && len(s) > to.Length {
			s = s[:to.Length&^1]
		}
		return fitText(s, to), nil
	case NoStyle, 0:
	default:
		return nil, mserr.StyleNotSupported(style, from.Name(), to.Name())
	}
	if to.IsUnicode() {
		return fitText(FromUTF16(b), to), nil
	}
	return fitText(FromCodePage(b, to.Collation), to), nil
}

// toGUID reads a text or 16 bytes in the wire form; it pads fewer bytes with zeros.
func toGUID(v Value, from Type) (Value, error) {
	switch v := v.(type) {
	case string:
		return ParseGUID(v)
	case []byte:
		if from.ID == UniqueIdentifier {
			return v, nil
		}
		return GUIDFromWire(fitBytes(v, Type{ID: Binary, Length: 16})), nil
	}
	return nil, mserr.GUIDConversion()
}

// toXML makes an xml value of a text or its bytes.
func toXML(v Value, from Type, style int) (Value, error) { return ToXML(v, from, style, nil) }

// ToXML converts a text or binary value to xml, as Convert does. It calls check from time to time,
// unless it is nil, and returns its error.
func ToXML(v Value, from Type, style int, check func() error) (Value, error) {
	s, encoding := "", ""
	switch v := v.(type) {
	case string:
		s = v
		if from.IsUnicode() {
			encoding = "utf-16"
		}
	case []byte:
		if bytes.HasPrefix(v, []byte{0xFF, 0xFE}) {
			s, encoding = FromUTF16(v[2:]), "utf-16"
		} else {
			s = string(v)
		}
	}
	if from.ID == XML {
		return s, nil
	}
	out, err := xmltext.Parse(s, encoding, style, check)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// textToNumber reads a text as a number type.
func textToNumber(s string, from, to Type) (Value, error) {
	switch {
	case to.IsInteger():
		return parseInteger(s, from, to)
	case to.ID == Decimal:
		return ParseDecimal(s, to, from.Name())
	case to.IsMoney():
		return parseMoney(s, to)
	}
	return parseFloat(s, from, to)
}
