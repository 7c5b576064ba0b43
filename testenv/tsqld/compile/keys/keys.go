package keys

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
	"github.com/jobagent/jobagent/testenv/tsqld/builtin/search"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// MaxFoldedBytes is the maximum size of a folded constant. Plans keep their constants in memory.
// The limit has room for a sql_variant, which has at most 8,000 bytes.
const MaxFoldedBytes = 32 << 10

// The keys of pure functions. A key is one of these words and its fields, separated by '|'; types
// are written by types.Type.Key, names are escaped by Text. Keys are stored in database files
// (CHECK constraints, generated columns), so the meaning of a key must never change.
const (
	Convert      = "c"    // from|to|style
	TryConvert   = "tc"   // from|to|style
	ConvertBy    = "cs"   // from|to; arguments: value, style
	TryConvertBy = "tcs"  // as ConvertBy
	Store        = "st"   // from|to|table|column: implicit conversion into a column; error 2628 instead of truncation
	NotNull      = "nn"   // statement|table|column: error 515 for NULL
	Arith        = "a"    // operator number|left type|right type|result type
	Negate       = "neg"  // type|result
	BitNot       = "bn"   // type
	Locale       = "loc"  // language|date order|another key
	Builtin      = "f"    // name|result|argument types...
	Env          = "env"  // as Builtin, for a function of the session
	Compare      = "cmp"  // operator|type
	Like         = "like" // collation|1 to ignore trailing blanks; arguments: text, pattern, optional escape
	Recursion    = "rec"  // limit; argument: level
	Limit        = "lim"  // TOP, OFFSET or FETCH; argument: bigint
	Field        = "col"  // index of a field; argument: row made by encodeFields
	Raise        = "raise"
	Percent      = "pct"    // argument: float; error 1031 unless from 0 to 100
	SumInt       = "sumint" // type; error 8115 for a sum outside it
	Ceiling      = "ceil"   // arguments: total, percentage
	JSONObject   = "jo"     // 1 for ABSENT ON NULL|types...
	JSONArray    = "ja"     // as JSONObject
)

// Make joins the parts of a key.
func Make(parts ...string) string { return strings.Join(parts, "|") }

// InLocale returns the key of a function that works in a locale.
func InLocale(l types.Locale, key string) string {
	if l == (types.Locale{}) {
		return key
	}
	return Make(Locale, strconv.Itoa(int(l.Language)), strconv.Itoa(int(l.Order)), key)
}

// Text escapes a name in a key.
func Text(s string) string {
	if !strings.ContainsAny(s, "%|") {
		return s
	}
	return strings.NewReplacer("%", "%25", "|", "%7C").Replace(s)
}

// unescape is the inverse of Text.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	return strings.NewReplacer("%25", "%", "%7C", "|").Replace(s)
}

// Functions returns the resolver of all keys that the compiler generates, for store.Config. One
// resolver can be shared by several stores.
func Functions() *store.Functions {
	return &store.Functions{Scalar: ScalarFunc, Aggregate: AggregateFunc, Rows: RowsFunc}
}

// EnvFunc returns the function of the session with a key, bound to an environment, or nil for keys
// of other kinds. The resolver passed to store.Conn.SetLocal must call it first.
func EnvFunc(env builtin.Env, key string) (store.Func, error) {
	if !strings.HasPrefix(key, Env+"|") {
		return nil, nil
	}
	f, argTypes, result, err := parseBuiltin(strings.Split(key, "|"))
	if err != nil {
		return nil, err
	}
	return func(m *meter.Meter, args []types.Value) (types.Value, error) {
		return f.Call(m, env, argTypes, result, args)
	}, nil
}

// scalars caches the results of ScalarFunc by key; scalarCount is the approximate number of
// entries.
var (
	scalars     sync.Map
	scalarCount atomic.Int64
)

// maxCachedScalars bounds the cache, because keys of statements that never run again would fill it.
const maxCachedScalars = 20_000

// ScalarFunc returns the function of a pure or per-row key.
func ScalarFunc(key string) (store.Func, error) {
	if f, ok := scalars.Load(key); ok {
		return f.(store.Func), nil
	}
	f, err := makeScalar(key)
	if err != nil {
		return nil, err
	}
	if scalarCount.Add(1) > maxCachedScalars {
		scalars.Clear()
		scalarCount.Store(0)
	}
	scalars.Store(key, f)
	return f, nil
}

// reader reads the fields of a key. It keeps the first error.
type reader struct {
	key  string
	part []string
	err  error
}

// next returns the next field.
func (r *reader) next() string {
	if len(r.part) == 0 {
		r.fail()
		return ""
	}
	s := r.part[0]
	r.part = r.part[1:]
	return s
}

// text returns the next field as a name.
func (r *reader) text() string { return unescape(r.next()) }

// typ returns the next field as a type.
func (r *reader) typ() types.Type {
	s := r.next()
	if s == "" {
		return types.NullType
	}
	t, err := types.ParseType(s)
	if err != nil {
		r.fail()
	}
	return t
}

// number returns the next field as a number.
func (r *reader) number() int {
	n, err := strconv.Atoi(r.next())
	if err != nil {
		r.fail()
	}
	return n
}

// fail records that the key cannot be read.
func (r *reader) fail() {
	if r.err == nil {
		r.err = mserr.NotSupported("the function key %s", r.key)
	}
}

// TypeText returns the form of a type in keys; it is empty for the type of a bare NULL.
func TypeText(t types.Type) string {
	if t.ID == types.Null {
		return ""
	}
	return t.Key()
}

// parseBuiltin parses a key of Builtin or Env, including the word.
func parseBuiltin(parts []string) (f *builtin.Func, argTypes []types.Type, result types.Type, err error) {
	r := &reader{key: strings.Join(parts, "|"), part: parts[1:]}
	name := r.next()
	result = r.typ()
	for len(r.part) > 0 {
		argTypes = append(argTypes, r.typ())
	}
	if r.err != nil {
		return nil, nil, result, r.err
	}
	f, ok := builtin.Lookup(name)
	if !ok {
		return nil, nil, result, mserr.NotRecognized(name, "built-in function name")
	}
	return f, argTypes, result, nil
}

// makeScalar builds the function of a key.
func makeScalar(key string) (store.Func, error) {
	parts := strings.Split(key, "|")
	r := &reader{key: key, part: parts[1:]}
	var in types.Locale
	var env builtin.Env
	if parts[0] == Locale {
		in = types.Locale{Language: uint8(r.number()), Order: types.DateOrder(r.number())}
		env = builtin.InLocale(in)
		parts = r.part
		if r.err != nil || len(parts) == 0 {
			return nil, mserr.NotSupported("the function key %s", key)
		}
		r.part = parts[1:]
	}
	var f store.Func
	switch parts[0] {
	case Convert, TryConvert, ConvertBy, TryConvertBy:
		f = convertFunc(parts[0], r, in)
	case XMLMethod:
		f = xmlMethodFunc(r)
		if r.err != nil {
			return nil, r.err
		}
	case Ceiling:
		f = ceiling
	case JSONObject, JSONArray:
		f = jsonFunc(parts[0] == JSONObject, r)
	case Field:
		i := r.number()
		f = func(m *meter.Meter, args []types.Value) (types.Value, error) { return decodeField(args[0], i) }
	case Builtin:
		fn, argTypes, result, err := parseBuiltin(parts)
		if err != nil {
			return nil, err
		}
		f = func(m *meter.Meter, args []types.Value) (types.Value, error) {
			return fn.Call(m, env, argTypes, result, args)
		}
	default:
		if f = operatorFunc(parts[0], r); f == nil {
			f = checkFunc(parts[0], r)
		}
	}
	switch {
	case f == nil:
		return nil, mserr.NotSupported("the function key %s", parts[0])
	case r.err != nil:
		return nil, r.err
	}
	return f, nil
}

// convertFunc returns the function of a conversion with the given word, in a locale.
func convertFunc(word string, r *reader, in types.Locale) store.Func {
	convertValue := types.ConvertIn
	if word == TryConvert || word == TryConvertBy {
		convertValue = types.TryConvert
	}
	from, to := r.typ(), r.typ()
	if word == ConvertBy || word == TryConvertBy {
		return func(m *meter.Meter, args []types.Value) (types.Value, error) {
			style, ok := args[1].(int64)
			if !ok {
				return nil, nil
			}
			return convertValue(args[0], from, to, int(style), in)
		}
	}
	style := r.number()
	f := func(m *meter.Meter, args []types.Value) (types.Value, error) {
		return convertValue(args[0], from, to, style, in)
	}
	if to.ID == types.XML && from.ID != types.XML {
		return xmlFunc(f, from, style)
	}
	return f
}

// operatorFunc returns the function of an operator, or nil for another word.
func operatorFunc(word string, r *reader) store.Func {
	switch word {
	case Arith:
		op, a, b, result := types.Op(r.number()), r.typ(), r.typ(), r.typ()
		return func(m *meter.Meter, args []types.Value) (types.Value, error) {
			return types.Arith(op, args[0], a, args[1], b, result)
		}
	case Negate:
		t, result := r.typ(), r.typ()
		return func(m *meter.Meter, args []types.Value) (types.Value, error) { return types.Negate(args[0], t, result) }
	case BitNot:
		t := r.typ()
		return func(m *meter.Meter, args []types.Value) (types.Value, error) { return types.BitNot(args[0], t), nil }
	case Compare:
		op, t := r.next(), r.typ()
		return func(m *meter.Meter, args []types.Value) (types.Value, error) {
			return CompareValues(op, args[0], args[1], t), nil
		}
	case Like:
		return likeFunc(types.Collation(r.number()), r.number() == 1)
	}
	return nil
}

// checkFunc returns the function that checks a value and returns it, or nil for another word.
func checkFunc(word string, r *reader) store.Func {
	switch word {
	case Store:
		return storeFunc(r.typ(), r.typ(), r.text(), r.text())
	case NotNull:
		statement, table, col := r.next(), r.text(), r.text()
		return func(m *meter.Meter, args []types.Value) (types.Value, error) {
			if args[0] == nil {
				return nil, mserr.NullInsert(col, table, statement)
			}
			return args[0], nil
		}
	case Recursion:
		limit := r.number()
		return func(m *meter.Meter, args []types.Value) (types.Value, error) {
			if n, _ := args[0].(int64); n > int64(limit) {
				return nil, mserr.RecursionExhausted(limit)
			}
			return args[0], nil
		}
	case Limit:
		return limitFunc(r.next())
	case Percent:
		return func(m *meter.Meter, args []types.Value) (types.Value, error) {
			p, _ := args[0].(float64)
			if args[0] == nil {
				return nil, mserr.InvalidTopValue()
			}
			if p < 0 || p > 100 {
				return nil, mserr.Of(1031)
			}
			return p, nil
		}
	case Raise:
		e := mserr.New(int32(r.number()), uint8(r.number()), "%s", r.text())
		return func(*meter.Meter, []types.Value) (types.Value, error) { return nil, e }
	case SumInt:
		t := r.typ()
		return func(m *meter.Meter, args []types.Value) (types.Value, error) {
			if n, ok := args[0].(int64); ok && !types.InRange(n, t) {
				return nil, mserr.ArithmeticOverflow("expression", t.Name())
			}
			return args[0], nil
		}
	}
	return nil
}

// StoreSQL returns SQL that converts value, itself SQL of type from, as an assignment to a column
// of type to does. table and column are for error 2628.
func StoreSQL(from, to types.Type, table, column, value string) string {
	return "fn(" + store.Literal(
		Make(Store, TypeText(from), TypeText(to), Text(table), Text(column)),
	) + ", " + value + ")"
}

// storeFunc returns the function that converts a value for a column. It reports error 2628 instead
// of truncating.
func storeFunc(from, to types.Type, table, col string) store.Func {
	return func(m *meter.Meter, args []types.Value) (types.Value, error) {
		v := args[0]
		if types.Truncates(v, from, to) {
			part, _ := types.Convert(v, from, to, types.NoStyle)
			shown, err := types.Convert(part, to, types.NVarCharMax, types.NoStyle)
			if err != nil {
				return nil, err
			}
			return nil, mserr.TruncatedColumn(table, col, fmt.Sprint(shown))
		}
		return types.Convert(v, from, to, types.NoStyle)
	}
}

// likeFunc returns the function of LIKE. Most statements use one pattern for all rows, so the
// function keeps the last compiled pattern.
func likeFunc(c types.Collation, padded bool) store.Func {
	type compiled struct {
		pattern, escape string
		p               *search.Pattern
	}
	var last atomic.Pointer[compiled]
	return func(m *meter.Meter, args []types.Value) (types.Value, error) {
		for _, a := range args {
			if a == nil {
				return nil, nil
			}
		}
		text, _ := args[0].(string)
		pattern, _ := args[1].(string)
		escape := ""
		if len(args) > 2 {
			escape, _ = args[2].(string)
			if escape == "" {
				return nil, mserr.InvalidEscape(escape, "LIKE")
			}
		}
		l := last.Load()
		if l == nil || l.pattern != pattern || l.escape != escape {
			p, err := search.Compile(m, pattern, escape, c)
			if err != nil {
				return nil, err
			}
			l = &compiled{pattern, escape, p}
			last.Store(l)
		}
		match := l.p.Match
		if padded {
			match = l.p.MatchPadded
		}
		ok, err := match(m, text)
		return types.BitOf(ok), err
	}
}

// xmlFunc returns a conversion to xml: by f for short values, and by a parser that charges the
// meter for long ones.
func xmlFunc(f store.Func, from types.Type, style int) store.Func {
	return func(m *meter.Meter, args []types.Value) (types.Value, error) {
		n := ValueBytes(args[0])
		if n <= MaxFoldedBytes {
			return f(m, args)
		}
		if err := m.Take(3 * n); err != nil { // the text, and the growing result
			return nil, err
		}
		v, err := types.ToXML(args[0], from, style, func() error { return m.Work(xmlWork) })
		if stopped := m.Err(); stopped != nil {
			return nil, stopped
		}
		if err != nil {
			return f(m, args) // f reports the error of an invalid text
		}
		return v, nil
	}
}

// xmlWork is the cost of parsing one piece of a text as xml, in steps of [meter.Meter.Work].
const xmlWork = 1 << 15

// limitFunc returns the function that checks the row count of TOP, OFFSET and FETCH, the groups of
// NTILE and the offset of LAG and LEAD. NULL is refused except by LAG, as in SQL Server.
func limitFunc(what string) store.Func {
	return func(m *meter.Meter, args []types.Value) (types.Value, error) {
		n, ok := args[0].(int64)
		switch {
		case what == "TOP" && (!ok || n < 0):
			return nil, mserr.InvalidTopValue()
		case what == "OFFSET" && (!ok || n < 0):
			return nil, mserr.NegativeOffset()
		case what == "FETCH" && (!ok || n < 1):
			return nil, mserr.NonPositiveFetch()
		case what == "NTILE" && (!ok || n < 1):
			return nil, mserr.Of(4116)
		case what == "LAG" && n < 0:
			return nil, mserr.Of(8730)
		case !ok:
			return nil, nil
		}
		return n, nil
	}
}

// CompareValues returns the value of the condition "a op b"; NULL is unknown.
func CompareValues(op string, a, b types.Value, t types.Type) types.Value {
	if a == nil || b == nil {
		return nil
	}
	return types.BitOf(types.Holds(op, types.Compare(a, b, t)))
}
