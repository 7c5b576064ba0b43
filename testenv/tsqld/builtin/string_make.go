package builtin

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/builtin/jsontext"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// stringMakeFuncs make texts.
var stringMakeFuncs = []*Func{
	lenient("CONCAT", 2, Variadic, concatResult, evalConcat),
	lenient("CONCAT_WS", 3, 254, concatWSResult, evalConcatWS),
	long("REPLICATE", 2, 2, replicateResult, evalReplicate),
	pure("SPACE", 1, 1, spaceResult, evalSpace),
	lenient("QUOTENAME", 1, 2, fixed(types.NVarCharOf(258)), evalQuoteName),
	pure("PARSENAME", 2, 2, fixed(types.SysName), evalParseName),
	pure("CHAR", 1, 1, fixed(types.Type{ID: types.Char, Length: 1}), evalChar),
	pure("NCHAR", 1, 1, fixed(types.Type{ID: types.NChar, Length: 1}), evalNChar),
	pure("STR", 1, 3, strResult, evalStr),
	pure("STRING_ESCAPE", 2, 2, fixed(types.NVarCharMax), evalStringEscape),
}

// concatResult returns the sum of the lengths; nvarchar if an argument is nvarchar.
func concatResult(args []types.Type, _ []types.Value) (types.Type, error) {
	r := types.VarCharOf(1)
	lengths := make([]int, 0, len(args))
	for i, a := range args {
		if a.ID == types.Variant || a.ID == types.XML || a.ID == types.Image {
			return types.Type{}, mserr.InvalidArgumentType(a.MessageName(), i+1, "concat")
		}
		t, err := textArg(a, i+1, "concat")
		if err != nil {
			return types.Type{}, err
		}
		if t.Collation != types.CI {
			r.Collation = t.Collation
		}
		if a.ID != types.Null {
			lengths = append(lengths, t.Length)
		}
	}
	if anyUnicode(args...) {
		r.ID = types.NVarChar
	}
	return withLength(r, sumLengths(lengths...)), nil
}

// targetName is the type, in messages, to which other arguments are converted beside arguments of
// the types args.
func targetName(args ...types.Type) string {
	if anyUnicode(args...) {
		return "nvarchar"
	}
	return "varchar"
}

// concatWSResult is the result of CONCAT_WS: the lengths of the arguments and one separator for
// each gap. The lengths of types other than texts, and the errors, are those of a recorded SQL
// Server 2025.
func concatWSResult(args []types.Type, _ []types.Value) (types.Type, error) {
	r := types.VarCharOf(1)
	lengths := make([]int, 0, 2*len(args))
	for i, a := range args {
		switch a.ID {
		case types.Variant, types.XML:
			return types.Type{}, mserr.ImplicitConversion(a.MessageName(), targetName(args...))
		case types.Image:
			return types.Type{}, mserr.TypeClash(a.MessageName(), targetName(args...))
		}
		t, err := textArg(a, i+1, "concat_ws")
		if err != nil {
			return types.Type{}, err
		}
		if t.Collation != types.CI {
			r.Collation = t.Collation
		}
		n := 1
		if i == 0 {
			n = len(args) - 2
		}
		for range n {
			lengths = append(lengths, joinedLength(a, t))
		}
	}
	if anyUnicode(args...) {
		r.ID = types.NVarChar
	}
	return withLength(r, sumLengths(lengths...)), nil
}

// joinedLength is the length that CONCAT_WS reserves for an argument of type a, which is converted
// to text.
func joinedLength(a, text types.Type) int {
	switch {
	case a.ID == types.Null:
		return 0
	case a.IsBinary():
		return a.Length
	case a.ID == types.TinyInt:
		return 4
	case a.ID == types.SmallInt:
		return 6
	case a.ID == types.BigInt:
		return 24
	case a.ID == types.Bit:
		return 1
	case a.IsApprox():
		return 23
	case a.ID == types.Decimal:
		return 41
	case a.IsMoney(), a.IsTemporal(), a.ID == types.UniqueIdentifier:
		return 40
	}
	return text.Length
}

// evalConcat treats NULL as an empty text.
func evalConcat(_ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	var b strings.Builder
	for i, a := range args {
		if a == nil {
			continue
		}
		s, err := convert.Text(a, ts[i])
		if err != nil {
			return nil, err
		}
		b.WriteString(s)
	}
	return fit(b.String(), result), nil
}

// evalConcatWS omits NULLs and their separators.
func evalConcatWS(_ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	sep := ""
	if args[0] != nil {
		var err error
		if sep, err = convert.Text(args[0], ts[0]); err != nil {
			return nil, err
		}
	}
	var parts []string
	for i, a := range args[1:] {
		if a == nil {
			continue
		}
		s, err := convert.Text(a, ts[i+1])
		if err != nil {
			return nil, err
		}
		parts = append(parts, s)
	}
	return fit(strings.Join(parts, sep), result), nil
}

// replicateResult is (max) for a (max) text, else of the length that literals determine, or the
// limit.
func replicateResult(args []types.Type, consts []types.Value) (types.Type, error) {
	t, err := textArg(args[0], 1, "replicate")
	if err != nil {
		return types.Type{}, err
	}
	if n, ok := constInt(consts, 1); ok && n >= 0 && t.Length != types.Max {
		return withLength(t, min(t.Length*min(n, maxBytes), limitOf(t))), nil
	}
	return wideType(t), nil
}

func evalReplicate(m *meter.Meter, _ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	s, n, err := textAndCount(ts, args)
	if err != nil || n < 0 {
		return nil, err
	}
	if s == "" || n == 0 {
		return "", nil
	}
	if result.Length != types.Max {
		n = min(n, result.Length/max(types.Units(s), 1)+1)
	} else if n > math.MaxInt32/len(s) {
		return nil, mserr.OutOfMemory()
	}
	if err := m.Take(n * len(s)); err != nil {
		return nil, err
	}
	return fit(strings.Repeat(s, n), result), nil
}

func spaceResult(args []types.Type, consts []types.Value) (types.Type, error) {
	if n, ok := constInt(consts, 0); ok {
		return withLength(types.VarCharOf(1), max(n, 1)), nil
	}
	return types.VarCharOf(maxBytes), nil
}

func evalSpace(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	n, err := convert.Integer(args[0], ts[0])
	if err != nil || n < 0 {
		return nil, err
	}
	return strings.Repeat(" ", min(n, maxBytes)), nil
}

// QuoteName implements QUOTENAME: the name in quotes ("" means brackets), with the closing quote
// doubled inside. ok is false, for NULL, if the quote is another character, or the name has more
// than 128 characters or a NUL.
func QuoteName(name, quote string) (quoted string, ok bool) {
	if types.Units(name) > 128 || strings.Contains(name, "\x00") {
		return "", false
	}
	if quote == "" {
		quote = "["
	}
	open, end := quote[:1], quote[:1]
	switch quote[0] {
	case '[', ']':
		open, end = "[", "]"
	case '(', ')':
		open, end = "(", ")"
	case '{', '}':
		open, end = "{", "}"
	case '<', '>':
		open, end = "<", ">"
	case '\'', '"', '`':
	default:
		return "", false
	}
	return open + strings.ReplaceAll(name, end, end+end) + end, true
}

func evalQuoteName(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return nil, nil
	}
	name, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	quote := "["
	if len(args) > 1 {
		if args[1] == nil {
			return nil, nil
		}
		if quote, err = convert.Text(args[1], ts[1]); err != nil {
			return nil, err
		}
	}
	if s, ok := QuoteName(name, quote); ok {
		return s, nil
	}
	return nil, nil
}

// SplitName splits a dotted name with brackets or quotes: "db..[t.x]" is "db", "", "t.x". ok is
// false for a malformed name or more than four parts.
func SplitName(name string) (parts []string, ok bool) {
	for len(parts) < 4 {
		name = strings.TrimLeft(name, " ")
		var part string
		if name != "" && (name[0] == '[' || name[0] == '"') {
			end := name[0]
			if end == '[' {
				end = ']'
			}
			closed := false
			var inner strings.Builder
			i := 1
			for ; i < len(name); i++ {
				if name[i] == end {
					if i+1 < len(name) && name[i+1] == end {
						i++
					} else {
						closed = true
						break
					}
				}
				inner.WriteByte(name[i])
			}
			if !closed {
				return nil, false
			}
			part = inner.String()
			name = strings.TrimLeft(name[i+1:], " ")
			if name != "" && name[0] != '.' {
				return nil, false
			}
		} else {
			i := strings.IndexByte(name, '.')
			if i < 0 {
				i = len(name)
			}
			part, name = strings.TrimRight(name[:i], " "), name[i:]
			if strings.ContainsAny(part, "[]\"") {
				return nil, false
			}
		}
		parts = append(parts, part)
		if name == "" {
			return parts, true
		}
		name = name[1:]
	}
	return nil, false
}

func evalParseName(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	name, n, err := textAndCount(ts, args)
	if err != nil {
		return nil, err
	}
	parts, ok := SplitName(name)
	if !ok || n < 1 || n > len(parts) || parts[len(parts)-n] == "" {
		return nil, nil
	}
	if utf8.RuneCountInString(parts[len(parts)-n]) > types.SysName.Length { // too long for a name
		return nil, nil
	}
	return parts[len(parts)-n], nil
}

func evalChar(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	n, err := convert.Bigint(args[0], ts[0])
	if err != nil || n < 0 || n > 255 {
		return nil, err
	}
	return string(charmap.Windows1252.DecodeByte(byte(n))), nil
}

func evalNChar(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	n, err := convert.Bigint(args[0], ts[0])
	if err != nil || n < 0 || n > 0xFFFF {
		return nil, err
	}
	if utf16.IsSurrogate(rune(n)) {
		return "\uFFFD", nil
	}
	return string(rune(n)), nil
}

func strResult(args []types.Type, consts []types.Value) (types.Type, error) {
	n := 10
	if len(args) > 1 {
		n = maxBytes
		if c, ok := constInt(consts, 1); ok {
			n = max(c, 1)
		}
	}
	return types.VarCharOf(min(n, maxBytes)), nil
}

// evalStr prints a number right-aligned, rounded to the decimals. If the integral part does not
// fit, it prints asterisks.
func evalStr(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	f, err := convert.Float(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	width, decimals := 10, 0
	if len(args) > 1 {
		if width, err = convert.Integer(args[1], ts[1]); err != nil {
			return nil, err
		}
	}
	if len(args) > 2 {
		if decimals, err = convert.Integer(args[2], ts[2]); err != nil {
			return nil, err
		}
	}
	if width < 0 || width > maxBytes || decimals < 0 {
		return nil, nil
	}
	decimals = min(decimals, 16)
	s := strconv.FormatFloat(roundHalfAway(f, decimals), 'f', decimals, 64)
	for len(s) > width && decimals > 0 {
		decimals--
		s = strconv.FormatFloat(roundHalfAway(f, decimals), 'f', decimals, 64)
	}
	if len(s) > width {
		return strings.Repeat("*", width), nil
	}
	return strings.Repeat(" ", width-len(s)) + s, nil
}

// roundHalfAway rounds the shortest decimal text of f to a number of decimals, halves away from
// zero.
func roundHalfAway(f float64, decimals int) float64 {
	if math.IsInf(f, 0) || math.IsNaN(f) || math.Abs(f) >= 1e15 {
		return f
	}
	scale := math.Pow10(decimals)
	scaled := f * scale
	if math.IsInf(scaled, 0) {
		return f
	}
	r := math.Trunc(scaled)
	if diff := math.Abs(scaled - r); diff >= 0.5-1e-9*math.Max(1, math.Abs(scaled)*1e-6) {
		r += math.Copysign(1, scaled)
	}
	return r / scale
}

// evalStringEscape supports the type json only; NULL for other types.
func evalStringEscape(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	s, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	kind, err := convert.Text(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	if !strings.EqualFold(kind, "json") {
		return nil, mserr.Of(13923)
	}
	return jsontext.Escape(s), nil
}
