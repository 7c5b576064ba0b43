package builtin

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/builtin/search"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// stringFuncs split and change texts ("String functions (Transact-SQL)").
var stringFuncs = []*Func{
	collating(pure("LEN", 1, 1, lengthResult("len"), evalLen)),
	pure("DATALENGTH", 1, 1, dataLengthResult, evalDataLength),
	collating(pure("SUBSTRING", 3, 3, substringResult, evalSubstring)),
	collating(pure("LEFT", 2, 2, sideResult("left"), evalLeft)),
	collating(pure("RIGHT", 2, 2, sideResult("right"), evalRight)),
	collating(pure("UPPER", 1, 1, sameText("upper"), inCase(types.Collation.Upper))),
	collating(pure("LOWER", 1, 1, sameText("lower"), inCase(types.Collation.Lower))),
	collating(long("LTRIM", 1, 2, sameText("ltrim"), evalTrim(true, false))),
	collating(long("RTRIM", 1, 2, sameText("rtrim"), evalTrim(false, true))),
	collating(long("TRIM", 1, 2, sameText("trim"), evalTrim(true, true))),
	collating(pure("REVERSE", 1, 1, sameText("reverse"), eachText(reverse))),
	collating(long("REPLACE", 3, 3, replaceResult, evalReplace)),
	collating(lenient("STUFF", 4, 4, stuffResult, evalStuff)),
	collating(long("TRANSLATE", 3, 3, translateResult, evalTranslate)),
	pure("ASCII", 1, 1, fixed(types.IntType), evalASCII),
	collating(pure("UNICODE", 1, 1, fixed(types.IntType), evalUnicode)),
	collating(pure("SOUNDEX", 1, 1, soundexResult, evalSoundex)),
	collating(pure("DIFFERENCE", 2, 2, fixed(types.IntType), evalDifference)),
}

// lengthResult is int, bigint for (max).
func lengthResult(name string) resultFunc {
	return func(args []types.Type, _ []types.Value) (types.Type, error) {
		if args[0].ID == types.NText || args[0].ID == types.Text {
			return types.Type{}, mserr.InvalidArgumentType(args[0].MessageName(), 1, name)
		}
		t, err := textArg(args[0], 1, name)
		if err != nil {
			return types.Type{}, err
		}
		if t.Length == types.Max {
			return types.BigIntType, nil
		}
		return types.IntType, nil
	}
}

// dataLengthResult accepts every type.
func dataLengthResult(args []types.Type, _ []types.Value) (types.Type, error) {
	if args[0].IsMax() {
		return types.BigIntType, nil
	}
	return types.IntType, nil
}

func evalLen(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if b, ok := args[0].([]byte); ok && ts[0].IsBinary() {
		n := len(b)
		for n > 0 && b[n-1] == ' ' {
			n--
		}
		return int64(n), nil
	}
	s, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	return int64(ts[0].Collation.Chars(types.TrimBlanks(s))), nil
}

func evalDataLength(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	return int64(types.DataLength(args[0], ts[0])), nil
}

// substringResult returns the argument's varying type, with the length of the argument or a literal
// length.
func substringResult(args []types.Type, consts []types.Value) (types.Type, error) {
	t := args[0]
	switch {
	case t.IsBinary(), t.ID == types.RowVersion:
		t = types.VarBinaryOf(max(t.Length, 8))
		if args[0].Length != 0 {
			t.Length = args[0].Length
		}
	case t.ID == types.Image:
		t = types.VarBinaryMax
	case t.IsCharacter():
		t, _ = convert.TextType(t)
	case t.ID == types.Null:
		t = types.VarCharOf(1)
	default:
		return types.Type{}, mserr.InvalidArgumentType(t.MessageName(), 1, "substring")
	}
	n, ok := constInt(consts, 2)
	switch {
	case ok && n < 0:
		return types.Type{}, mserr.InvalidLengthOf("substring").WithState(8)
	case ok && n > 0 && t.Length != types.Max:
		t.Length = min(n*t.CharSize(), t.Length)
	}
	return t, nil
}

func evalSubstring(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	start, err := convert.Bigint(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	n, err := convert.Bigint(args[2], ts[2])
	if err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, mserr.InvalidSubstring(lengthState(ts[0]))
	}
	start--
	if start < 0 { // positions before the first count toward the length
		n = max(n+start, 0)
		start = 0
	}
	const far = 1 << 31
	start, n = min(start, far), min(n, far)
	if b, ok := args[0].([]byte); ok {
		from := min(start, int64(len(b)))
		return b[from:min(from+n, int64(len(b)))], nil
	}
	s, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	return ts[0].Collation.Slice(s, int(start), int(n)), nil
}

// sideResult is the type of LEFT and RIGHT.
func sideResult(name string) resultFunc {
	return func(args []types.Type, consts []types.Value) (types.Type, error) {
		t, err := textArg(args[0], 1, name)
		if err != nil || args[0].IsLOB() {
			return types.Type{}, mserr.InvalidArgumentType(args[0].MessageName(), 1, name)
		}
		n, ok := constInt(consts, 1)
		switch {
		case ok && n < 0:
			return types.Type{}, mserr.InvalidLengthOf(name).WithState(6)
		case ok && n > 0 && t.Length != types.Max:
			t.Length = min(n*t.CharSize(), t.Length)
		}
		return t, nil
	}
}

func evalLeft(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	s, n, err := textAndCount(ts, args)
	if err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, mserr.InvalidSubstring(lengthState(ts[0]))
	}
	return ts[0].Collation.Left(s, n), nil
}

// lengthState is the state of the error of a negative length.
func lengthState(t types.Type) uint8 {
	if t.IsUnicode() || t.Length == types.Max {
		return 3
	}
	return 2
}

func evalRight(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	s, n, err := textAndCount(ts, args)
	if err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, mserr.InvalidLengthOf("RIGHT").WithState(2 * (lengthState(ts[0]) - 1))
	}
	c := ts[0].Collation
	chars := c.Chars(s)
	return c.Slice(s, chars-min(n, chars), n), nil
}

// textAndCount reads the arguments (text, number).
func textAndCount(ts []types.Type, args []types.Value) (string, int, error) {
	s, err := convert.Text(args[0], ts[0])
	if err != nil {
		return "", 0, err
	}
	n, err := convert.Integer(args[1], ts[1])
	return s, n, err
}

// evalTrim removes blanks, or the characters of a second argument.
func evalTrim(left, right bool) longEval {
	return func(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
		s, err := convert.Text(args[0], ts[0])
		if err != nil {
			return nil, err
		}
		isIn := func(r rune) bool { return r == ' ' }
		if len(args) > 1 {
			set, err := convert.Text(args[1], ts[1])
			if err != nil {
				return nil, err
			}
			if isIn, err = runeSet(m, set); err != nil {
				return nil, err
			}
		}
		var stop error
		trimmed := func(r rune) bool {
			stop = m.Work(runeWork)
			return stop == nil && isIn(r)
		}
		if left {
			s = strings.TrimLeftFunc(s, trimmed)
		}
		if right && stop == nil {
			s = strings.TrimRightFunc(s, trimmed)
		}
		return s, stop
	}
}

// runeSet returns a function that reports whether a character occurs in a text.
func runeSet(m *meter.Meter, s string) (isIn func(rune) bool, err error) {
	if len(s) <= 16 {
		return func(r rune) bool { return strings.ContainsRune(s, r) }, nil
	}
	set := map[rune]bool{}
	for _, r := range s {
		if !set[r] {
			set[r] = true
			if err := m.Take(runeBytes); err != nil {
				return nil, err
			}
		}
		if err := m.Work(runeWork); err != nil {
			return nil, err
		}
	}
	return func(r rune) bool { return set[r] }, nil
}

const (
	// runeBytes is the memory of an entry of a map of characters.
	runeBytes = 32
	// runeWork is the cost of using such a map, in steps of [meter.Meter.Work].
	runeWork = 8
)

// reverse reverses the characters.
func reverse(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		r, size := utf8.DecodeLastRuneInString(s)
		b.WriteRune(r)
		s = s[:len(s)-size]
	}
	return b.String()
}

// replaceResult is nvarchar if an argument is Unicode. Its length is 8000 bytes, or (max) if the
// first argument is (max).
func replaceResult(args []types.Type, _ []types.Value) (types.Type, error) {
	var first types.Type
	for i, a := range args {
		t, err := textArg(a, i+1, "replace")
		if err != nil {
			return types.Type{}, err
		}
		if i == 0 {
			first = t
		}
	}
	if anyUnicode(args...) {
		first.ID = types.NVarChar
	}
	return wideType(first), nil
}

func evalReplace(m *meter.Meter, _ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	var part [3]string
	for i := range part {
		var err error
		if part[i], err = convert.Text(args[i], ts[i]); err != nil {
			return nil, err
		}
	}
	s, old, with := part[0], part[1], part[2]
	if old == "" {
		return s, nil
	}
	if result.Collation.IsBinary() || !hasLetters(old) {
		if err := m.Take(len(s) + strings.Count(s, old)*(len(with)-len(old))); err != nil {
			return nil, err
		}
		return fit(strings.ReplaceAll(s, old, with), result), nil
	}
	var b strings.Builder
	what := search.Text{Runes: []rune(old), Collation: result.Collation}
	for taken := 0; ; {
		start, end, err := search.First(m, what, s)
		if err != nil {
			return nil, err
		}
		if start < 0 {
			break
		}
		if need := 2*(b.Len()+start+len(with)) + len(s); need > taken { // a growing builder copies its buffer
			if err := m.Take(need - taken); err != nil {
				return nil, err
			}
			taken = need + need/4
			if err := m.Take(need / 4); err != nil {
				return nil, err
			}
		}
		if err := m.Work(start + len(with)); err != nil {
			return nil, err
		}
		b.WriteString(s[:start])
		b.WriteString(with)
		s = s[end:]
	}
	b.WriteString(s)
	return fit(b.String(), result), nil
}

// hasLetters reports whether a text has characters with case or accents.
func hasLetters(s string) bool {
	for _, r := range s {
		if r >= utf8.RuneSelf || unicode.IsLetter(r) {
			return true
		}
	}
	return false
}

// stuffResult has room for both texts.
func stuffResult(args []types.Type, _ []types.Value) (types.Type, error) {
	if args[0].IsBinary() {
		with := args[3].DisplayLength()
		if args[3].IsCharacter() && args[3].Length != types.Max { // in bytes
			with = int(args[3].MaxLength())
		}
		n := sumLengths(args[0].Length, with)
		if n == types.Max {
			return types.VarBinaryMax, nil
		}
		return types.VarBinaryOf(min(n, maxBytes)), nil
	}
	t, err := textArg(args[0], 1, "stuff")
	if err != nil {
		return types.Type{}, err
	}
	with, err := textArg(args[3], 4, "stuff")
	if err != nil {
		return types.Type{}, err
	}
	if with.IsUnicode() {
		t.ID = types.NVarChar
	}
	return withLength(t, sumLengths(t.Length, with.Length)), nil
}

// sumLengths adds lengths; the sum is Max if one of them is.
func sumLengths(lengths ...int) int {
	sum := 0
	for _, n := range lengths {
		if n == types.Max {
			return types.Max
		}
		sum += n
	}
	return sum
}

// evalStuff returns NULL for a start or length out of range; a NULL replacement deletes.
func evalStuff(_ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil || args[1] == nil || args[2] == nil {
		return nil, nil
	}
	start, err := convert.Integer(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	n, err := convert.Integer(args[2], ts[2])
	if err != nil {
		return nil, err
	}
	if b, ok := args[0].([]byte); ok && ts[0].IsBinary() {
		if start <= 0 || n < 0 || start > len(b) {
			return nil, nil
		}
		var with []byte
		if args[3] != nil {
			v, err := types.Convert(args[3], ts[3], types.VarBinaryMax, types.NoStyle)
			if err != nil {
				return nil, err
			}
			with, _ = v.([]byte)
		}
		out := append(append([]byte{}, b[:start-1]...), with...)
		return append(out, b[min(start-1+n, len(b)):]...), nil
	}
	s, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	c := ts[0].Collation
	chars := c.Chars(s)
	if start <= 0 || n < 0 || start > chars {
		return nil, nil
	}
	with := ""
	if args[3] != nil {
		if with, err = convert.Text(args[3], ts[3]); err != nil {
			return nil, err
		}
	}
	tail := min(start-1+n, chars)
	return fit(c.Left(s, start-1)+with+c.Slice(s, tail, chars-tail), result), nil
}

// translateResult is varchar(8000), nvarchar(4000) if an argument is Unicode, or (max) as the first
// argument is (SQL Server 2025, recorded).
func translateResult(args []types.Type, _ []types.Value) (types.Type, error) {
	t, err := textArg(args[0], 1, "translate")
	switch last := args[2]; {
	case err != nil:
		return t, err
	case !last.IsCharacter() && !last.IsBinary() && last.ID != types.Null:
		return t, mserr.InvalidArgumentType(last.MessageName(), 3, "translate")
	case anyUnicode(args...):
		t.ID = types.NVarChar
	default:
		t.ID = types.VarChar
	}
	return wideType(t), nil
}

func evalTranslate(m *meter.Meter, _ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	s, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	from, err := convert.Text(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	to, err := convert.Text(args[2], ts[2])
	if err != nil {
		return nil, err
	}
	if n := len(from) + len(to); n > meter.Small {
		if err := m.Take(n * utf8.UTFMax); err != nil { // a rune has four bytes, too
			return nil, err
		}
	}
	old, with := []rune(from), []rune(to)
	if len(old) != len(with) {
		return nil, mserr.TranslateLengths(result.IsUnicode())
	}
	known := map[rune]rune{}
	var b strings.Builder
	if err := m.Take(utf8.UTFMax * len(s)); err != nil {
		return nil, err
	}
	for _, r := range s {
		x, ok := known[r]
		if !ok {
			x = r
			if i := slices.IndexFunc(old, func(o rune) bool { return types.SameRune(r, o, result.Collation) }); i >= 0 {
				x = with[i]
			}
			known[r] = x
			if err := m.Work(search.CompareWork * len(old)); err != nil {
				return nil, err
			}
			if err := m.Take(runeBytes); err != nil {
				return nil, err
			}
		}
		if err := m.Work(runeWork); err != nil {
			return nil, err
		}
		b.WriteRune(x)
	}
	return fit(b.String(), result), nil
}

func evalASCII(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	s, err := convert.Text(args[0], ts[0])
	if err != nil || s == "" {
		return nil, err
	}
	r, _ := utf8.DecodeRuneInString(s)
	return int64(types.ToCodePage(string(r), ts[0].Collation)[0]), nil
}

func evalUnicode(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	s, err := convert.Text(args[0], ts[0])
	if err != nil || s == "" {
		return nil, err
	}
	if r, _ := utf8.DecodeRuneInString(s); ts[0].Collation.Supplementary() {
		return int64(r), nil
	}
	unit := types.ToUTF16(types.Left(s, 2))
	return int64(unit[0]) | int64(unit[1])<<8, nil
}

// soundexCodes are the digits of the letters a to z; 0 ends a run of equal digits.
const soundexCodes = "01230120022455012623010202"

// soundex returns the four-character code of a text in the code page of its collation (SQL Server
// 2025, recorded): 0000 unless it begins with a letter. The first character that is no letter ends
// the text. The letters before and after H and W, but not h and w, count once if their digits are
// equal; legacy, the rule of compatibility level 100, makes no difference between H and h, nor
// between the first letter and others.
func soundex(s string, c types.Collation, legacy bool) string {
	text := types.ToCodePage(s, c)
	isLetter := func(x byte) bool {
		return x|0x20 >= 'a' && x|0x20 <= 'z' || c.CodePage() == 1252 && x >= 0xC0 && x != 0xD7 && x != 0xF7
	}
	if len(text) == 0 || !isLetter(text[0]) {
		return "0000"
	}
	out, last := []byte(strings.ToUpper(types.FromCodePage(text[:1], c))), byte('0')
	for i, x := range text {
		if !isLetter(x) {
			break
		}
		code := byte('0')
		if x < utf8.RuneSelf {
			code = soundexCodes[(x|0x20)-'a']
		}
		switch {
		case i == 0 && legacy:
			continue
		case (x == 'H' || x == 'W') && i > 0 && !legacy:
			continue
		case i > 0 && code != '0' && code != last:
			out = append(out, code)
		}
		last = code
	}
	_, first := utf8.DecodeRune(out)
	return string(append(out, "000"...)[:first+3])
}

// soundexResult is varchar(5).
func soundexResult(args []types.Type, _ []types.Value) (types.Type, error) {
	if t := args[0]; t.IsLOB() || t.ID == types.XML || t.ID == types.Variant {
		return types.Type{}, mserr.InvalidArgumentType(t.MessageName(), 1, "soundex")
	}
	return types.VarCharOf(5), nil
}

func evalSoundex(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	s, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	return soundex(s, ts[0].Collation, false), nil
}

// evalDifference counts the positions in which two legacy soundex codes agree, 0 to 4. The
// algorithm of SQL Server is not documented; texts with equal codes have 4, and a text without
// letters in the second place 0.
func evalDifference(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	a, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	b, err := convert.Text(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	a, b = soundex(a, ts[0].Collation, true), soundex(b, ts[1].Collation, true)
	if b == "0000" && a != b {
		return int64(0), nil
	}
	x, y := []rune(a), []rune(b)
	n := int64(0)
	for i := range 4 {
		if x[i] == y[i] {
			n++
		}
	}
	return n, nil
}
