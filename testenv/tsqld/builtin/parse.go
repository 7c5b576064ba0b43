package builtin

import (
	"errors"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/builtin/format"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// parseFuncs read texts in the format of a culture ("PARSE", "TRY_PARSE"). The second argument is a
// NULL of the type that is asked for.
var parseFuncs = []*Func{
	longLenient("PARSE", 2, 3, parseResult, evalParse(false)),
	longLenient("TRY_PARSE", 2, 3, parseResult, evalParse(true)),
}

// longestParsed is the length of the text that PARSE reads, in characters.
const longestParsed = 4000

// parseResult accepts texts and the types of numbers and dates.
func parseResult(args []types.Type, _ []types.Value) (types.Type, error) {
	if !args[0].IsCharacter() {
		return types.Type{}, mserr.InvalidArgumentType(args[0].MessageName(), 1, "parse")
	}
	if t := args[1]; !t.IsNumber() && !t.IsTemporal() || t.ID == types.Bit {
		return types.Type{}, mserr.Of(10761, t.Name())
	}
	return args[1], nil
}

// evalParse returns the function PARSE, or TRY_PARSE if isTry is set. Errors: 9819 for a text that
// is not a value of the type, 9818 for an unknown culture.
func evalParse(isTry bool) longEval {
	return func(_ *meter.Meter, env Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
		if args[0] == nil {
			return nil, nil
		}
		text, err := convert.Text(args[0], ts[0])
		if err != nil {
			return nil, err
		}
		text = types.Left(text, longestParsed)
		culture, err := formatCulture(env, ts, args)
		if err != nil {
			return nil, err
		}
		v, err := parsed(culture, text, result)
		var e *mserr.Error
		switch {
		case err == nil && v != nil:
			return v, nil
		case errors.As(err, &e) && e.Number == mserr.NotSupported("").Number:
			return nil, err
		case isTry:
			return nil, nil
		}
		name := ""
		if len(args) > 2 && args[2] != nil {
			name, _ = args[2].(string)
		}
		return nil, mserr.Of(9819, text, result.Name(), name)
	}
}

// parsed returns the value of a text; nil or an error if it has none.
func parsed(c *format.Culture, text string, t types.Type) (types.Value, error) {
	if t.ID == types.Time {
		return types.Convert(text, types.NVarCharMax, t, types.NoStyle)
	}
	if t.IsTemporal() {
		at, hasOffset, ok, err := c.ReadDate(text)
		if !ok || err != nil {
			return nil, err
		}
		from := types.Type{ID: types.DateTime2, Scale: 7}
		layout := "2006-01-02T15:04:05.0000000"
		switch {
		case t.ID == types.DateTimeOffset:
			from.ID, layout = types.DateTimeOffset, layout+"-07:00"
		case hasOffset:
			at = at.UTC()
		}
		v, err := types.Convert(at.Format(layout), types.NVarCharMax, from, types.NoStyle)
		if err != nil {
			return nil, err
		}
		return types.Convert(v, from, t, types.NoStyle)
	}
	style := format.StyleNumber
	switch {
	case t.IsMoney():
		style = format.StyleCurrency
	case t.IsApprox():
		style = format.StyleFloat
	}
	number, ok := c.ReadNumber(text, style)
	if !ok {
		return nil, nil
	}
	if whole, fraction, _ := strings.Cut(number, "."); t.IsInteger() && strings.Trim(fraction, "0") == "" {
		number = whole
	}
	return types.Convert(number, types.NVarCharMax, t, types.NoStyle)
}
