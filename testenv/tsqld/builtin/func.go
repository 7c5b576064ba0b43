package builtin

import (
	"strings"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/aggregate"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Volatility is how often a function has to be evaluated.
type Volatility uint8

// The volatilities, from the most to the least predictable.
const (
	Pure      Volatility = iota // depends on the arguments only; may be computed inside SQLite
	Statement                   // one value per statement: SYSUTCDATETIME, DB_NAME
	Session                     // one value per statement, from the session's state: @@ROWCOUNT, SCOPE_IDENTITY
	Place                       // one value per statement and call site: RAND
	PerRow                      // a new value for every row: NEWID
)

// Kind distinguishes scalar functions from functions of sets of rows.
type Kind uint8

// The kinds. An aggregate may also be used with OVER.
const (
	Scalar Kind = iota
	Aggregate
	Window // only with OVER
)

// Variadic is the MaxArgs of a function without an upper limit of its own; the general limit is
// 254.
const Variadic = 254

// Func describes one built-in function. The table's entries are shared and must not be modified.
type Func struct {
	Name       string // upper case
	MinArgs    int
	MaxArgs    int
	Kind       Kind
	Volatility Volatility

	// DatePart is set if the first argument is a keyword such as year or dw. It is passed to Result
	// as a constant and to Eval as a varchar.
	DatePart bool

	// Collating is set if the function is collation sensitive ("Collation Precedence", functions
	// and collation). The compiler then gives all arguments one collation, and refuses arguments
	// that have none.
	Collating bool

	// Variant is set if the first argument is converted to sql_variant, so that it must have a
	// collation.
	Variant bool

	// NullResult is set if the result is NULL whenever an argument is. [Func.Call] does not call
	// Eval then.
	NullResult bool

	// NotNull is set for session functions that are never NULL.
	NotNull bool

	// Result returns the type of the result. consts[i] is the value of argument i if it is a
	// literal, of type args[i], else nil; consts may be nil. Errors: 8116 and other errors of the
	// arguments' types.
	Result func(args []types.Type, consts []types.Value) (types.Type, error)

	// Eval computes a scalar function; nil for aggregates and window functions. The arguments have
	// their own types, without a conversion; the value has the type result. Eval keeps no state and
	// may be called from several goroutines.
	Eval func(env Env, argTypes []types.Type, result types.Type, args []types.Value) (types.Value, error)

	// Long replaces Eval in functions that may take long or whose result may be much larger than
	// the arguments. It asks the meter, which may be nil, before it continues or allocates.
	Long func(m *meter.Meter, env Env, argTypes []types.Type, result types.Type, args []types.Value) (types.Value, error)

	// New makes the state of one group; aggregates and percentiles only.
	New aggregate.Maker
}

// Lookup finds a function by its name in any case.
func Lookup(name string) (*Func, bool) {
	f, ok := table[strings.ToUpper(name)]
	return f, ok
}

// Names returns the names of all functions in no particular order.
func Names() []string {
	names := make([]string, 0, len(table))
	for name := range table {
		names = append(names, name)
	}
	return names
}

// CheckCount checks the number of arguments of a call: error 174 or 189.
func (f *Func) CheckCount(n int) error {
	if n >= f.MinArgs && n <= f.MaxArgs {
		return nil
	}
	name := strings.ToLower(f.Name)
	if f.MinArgs == f.MaxArgs {
		return mserr.ArgumentCount(name, f.MinArgs)
	}
	return mserr.ArgumentRange(name, f.MinArgs, f.MaxArgs)
}

// ResultType checks the number of arguments and returns the type of the result.
func (f *Func) ResultType(args []types.Type, consts []types.Value) (types.Type, error) {
	if err := f.CheckCount(len(args)); err != nil {
		return types.Type{}, err
	}
	if consts == nil {
		consts = make([]types.Value, len(args))
	}
	return f.Result(args, consts)
}

// Call evaluates a scalar function and handles NULLs as in [Func.NullResult]. env may be nil for
// Pure and PerRow functions. m is the account of the session and may always be nil.
func (f *Func) Call(m *meter.Meter, env Env, argTypes []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	if f.NullResult {
		for _, a := range args {
			if a == nil {
				return nil, nil
			}
		}
	}
	var v types.Value
	var err error
	if f.Long != nil {
		v, err = f.Long(m, env, argTypes, result, args)
	} else {
		v, err = f.Eval(env, argTypes, result, args)
	}
	if err != nil {
		return nil, err
	}
	return fitting(v, result)
}

// fitting truncates a value to its type, and converts a text to the type's code page.
func fitting(v types.Value, t types.Type) (types.Value, error) {
	switch x := v.(type) {
	case string:
		switch {
		case !t.IsCharacter() || t.IsLOB():
		case !t.IsUnicode() && !isASCII(x):
			return types.Convert(x, types.NVarCharMax, t, types.NoStyle)
		case t.Length > 0 && len(x) > t.Length:
			return fit(x, t), nil
		}
	case []byte:
		if t.IsBinary() && t.Length > 0 && len(x) > t.Length {
			return x[:t.Length], nil
		}
	}
	return v, nil
}

// isASCII reports whether a text is ASCII only, and therefore equal in all code pages.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// table holds all functions by upper-case name. The lists are in the files of this package. It
// never changes.
var table = join(
	stringFuncs, stringSearchFuncs, stringMakeFuncs, hashFuncs, cipherFuncs, formatFuncs, parseFuncs, mathFuncs, bitFuncs, dateFuncs,
	dateMakeFuncs, logicFuncs, jsonFuncs,
	sessionFuncs, errorFuncs, metaFuncs, propertyFuncs, securityFuncs, aggregates, windows, percentiles,
)

// join merges the lists of the files into one map.
func join(lists ...[]*Func) map[string]*Func {
	m := map[string]*Func{}
	for _, list := range lists {
		for _, f := range list {
			m[f.Name] = f
		}
	}
	return m
}

// resultFunc is the type of Func.Result.
type resultFunc = func(args []types.Type, consts []types.Value) (types.Type, error)

// evalFunc is the type of Func.Eval.
type evalFunc = func(env Env, argTypes []types.Type, result types.Type, args []types.Value) (types.Value, error)

// fixed is the result rule of a function with a constant result type.
func fixed(t types.Type) resultFunc {
	return func([]types.Type, []types.Value) (types.Type, error) { return t, nil }
}

// pure makes a function whose result is NULL if an argument is NULL.
func pure(name string, minArgs, maxArgs int, result resultFunc, eval evalFunc) *Func {
	return &Func{Name: name, MinArgs: minArgs, MaxArgs: maxArgs, NullResult: true, Result: result, Eval: eval}
}

// longEval is the type of Func.Long.
type longEval = func(m *meter.Meter, env Env, argTypes []types.Type, result types.Type, args []types.Value) (types.Value, error)

// long makes a Long function whose result is NULL if an argument is NULL.
func long(name string, minArgs, maxArgs int, result resultFunc, eval longEval) *Func {
	return &Func{Name: name, MinArgs: minArgs, MaxArgs: maxArgs, NullResult: true, Result: result, Long: eval}
}

// longLenient makes a Long function that handles NULL itself.
func longLenient(name string, minArgs, maxArgs int, result resultFunc, eval longEval) *Func {
	return &Func{Name: name, MinArgs: minArgs, MaxArgs: maxArgs, Result: result, Long: eval}
}

// lenient makes a pure function that handles NULL itself.
func lenient(name string, minArgs, maxArgs int, result resultFunc, eval evalFunc) *Func {
	return &Func{Name: name, MinArgs: minArgs, MaxArgs: maxArgs, Result: result, Eval: eval}
}

// collating marks a collation-sensitive function.
func collating(f *Func) *Func {
	f.Collating = true
	return f
}

// partEval is evalFunc for a function that gets a part of the session only.
type partEval[P any] = func(part P, argTypes []types.Type, result types.Type, args []types.Value) (types.Value, error)

// given makes an evalFunc of a function that gets a part of the session only.
func given[P any](part func(Env) P, eval partEval[P]) evalFunc {
	return func(env Env, argTypes []types.Type, result types.Type, args []types.Value) (types.Value, error) {
		return eval(part(env), argTypes, result, args)
	}
}

// session makes a function of a part of the session that handles NULL itself.
func session[P any](part func(Env) P, name string, minArgs, maxArgs int, result types.Type, eval partEval[P]) *Func {
	return &Func{Name: name, MinArgs: minArgs, MaxArgs: maxArgs, Volatility: Session, Result: fixed(result), Eval: given(part, eval)}
}
