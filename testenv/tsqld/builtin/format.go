package builtin

import (
	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/builtin/format"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// formatFuncs print values in a format.
var formatFuncs = []*Func{
	longLenient("FORMATMESSAGE", 1, 21, formatMessageResult, evalFormatMessage),
	longLenient("FORMAT", 2, 3, formatResult, evalFormat),
}

// formatResult accepts numbers and dates.
func formatResult(args []types.Type, _ []types.Value) (types.Type, error) {
	if t := args[0]; (!t.IsNumber() || t.ID == types.Bit) && !t.IsTemporal() && t.ID != types.Null {
		return types.Type{}, mserr.InvalidArgumentType(t.MessageName(), 1, "format")
	}
	return types.NVarCharOf(maxUnits), nil
}

// evalFormat implements FORMAT with .NET's format strings. A call without a culture uses that of
// the session's language. The result is NULL for a NULL and for an invalid format.
func evalFormat(m *meter.Meter, env Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil || args[1] == nil {
		return nil, nil
	}
	pattern, err := convert.Text(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	c, err := formatCulture(env, ts, args)
	if err != nil {
		return nil, err
	}
	s, ok, err := c.Print(m, args[0], ts[0], pattern)
	if !ok || err != nil {
		return nil, err
	}
	return fit(s, result), nil
}

// formatCulture returns the culture of a call.
func formatCulture(env Env, ts []types.Type, args []types.Value) (*format.Culture, error) {
	if len(args) < 3 || args[2] == nil {
		return format.OfLanguage(types.LanguageOf(localeOf(env)))
	}
	name, err := convert.Text(args[2], ts[2])
	if err != nil {
		return nil, err
	}
	return format.Named(name)
}

// formatMessageResult requires a text. Message numbers, those of sp_addmessage among them, are not
// supported.
func formatMessageResult(args []types.Type, _ []types.Value) (types.Type, error) {
	if !args[0].IsString() && args[0].ID != types.Null {
		if args[0].IsInteger() {
			return types.Type{}, mserr.NotSupported("FORMATMESSAGE with a message number")
		}
		return types.Type{}, mserr.InvalidArgumentType(args[0].MessageName(), 1, "formatmessage")
	}
	for i, t := range args[1:] {
		if !format.CanSubstitute(t) && t.ID != types.Null {
			return types.Type{}, mserr.InvalidSubstitution(t.String(), i+1)
		}
	}
	return types.NVarCharOf(2048), nil
}

func evalFormatMessage(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return nil, nil
	}
	text, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	return format.Message(m, text, ts[1:], args[1:])
}
