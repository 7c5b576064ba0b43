package mssql

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/jobagent/jobagent/targets/mssql/internal/tdsguard"
)

// AnswerLimits bound what one target may send, so that a target cannot exhaust the agent's memory.
// The zero value of each field means its default. Lengths are those on the network: a character of
// nvarchar has 2 bytes.
type AnswerLimits struct {
	// ValueBytes bounds a value that goes to an output table; default 8 MB. Other values have no
	// limit, because they use no memory.
	ValueBytes int64
	// RowBytes bounds a row that goes to an output table; default 8 MB.
	RowBytes int64
	// OutputBytes bounds the sum of all rows that one attempt writes to its output table; default 1
	// GB.
	OutputBytes int64
	// MessageBytes bounds the text of one message or error; default 32 KB. SQL Server's messages
	// have at most 16 KB.
	MessageBytes int64
	// Messages bounds how many messages, errors and row counts one attempt may receive; default 100
	// million. targets.Limits bounds how many are kept.
	Messages int64
	// ResultSets bounds how many result sets one attempt may receive; default 10 million.
	ResultSets int64
	// AnswerBytes bounds all data that a target may send in one attempt; default 16 GB.
	AnswerBytes int64
	// BufferBytes bounds the memory for rows on their way to output tables, over all attempts
	// together; default 112 MB. A value costs seven times its length while the driver reads it.
	BufferBytes int64
}

// withDefaults returns l with every unset field at its default.
func (l AnswerLimits) withDefaults() AnswerLimits {
	l.ValueBytes = cmp.Or(l.ValueBytes, 8<<20)
	l.RowBytes = cmp.Or(l.RowBytes, max(l.ValueBytes, 8<<20))
	l.OutputBytes = cmp.Or(l.OutputBytes, 1<<30)
	l.MessageBytes = cmp.Or(l.MessageBytes, 32<<10)
	l.Messages = cmp.Or(l.Messages, 100_000_000)
	l.ResultSets = cmp.Or(l.ResultSets, 10_000_000)
	l.AnswerBytes = cmp.Or(l.AnswerBytes, 16<<30)
	l.BufferBytes = cmp.Or(l.BufferBytes, tdsguard.MinBudget(l.RowBytes))
	return l
}

// Memory returns the most memory that rows of targets may take, with defaults applied.
func (l AnswerLimits) Memory() int64 { return l.withDefaults().BufferBytes }

// validate reports every field that is out of range, with its value.
func (l AnswerLimits) validate() error {
	var errs []error
	check := func(ok bool, field string, value int64, rule string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %d: must be %s", field, value, rule))
		}
	}
	const longest = 1<<31 - 1
	check(l.ValueBytes >= 1024 && l.ValueBytes <= longest, "value_bytes", l.ValueBytes, "1KB to 2GB less one byte")
	check(l.RowBytes >= l.ValueBytes, "row_bytes", l.RowBytes, "at least value_bytes")
	check(l.OutputBytes >= l.RowBytes, "output_bytes", l.OutputBytes, "at least row_bytes")
	check(l.MessageBytes >= 1024, "message_bytes", l.MessageBytes, "at least 1KB")
	check(l.Messages >= 1, "messages", l.Messages, "above 0")
	check(l.ResultSets >= 1, "result_sets", l.ResultSets, "above 0")
	check(l.AnswerBytes >= 1<<20, "answer_bytes", l.AnswerBytes, "at least 1MB")
	check(l.BufferBytes >= tdsguard.MinBudget(l.RowBytes), "buffer_bytes", l.BufferBytes,
		fmt.Sprintf("at least %d times row_bytes", tdsguard.MinBudget(1)))
	return errors.Join(errs...)
}

// guard returns the limits of one connection.
func (l AnswerLimits) guard() tdsguard.Limits {
	return tdsguard.Limits{
		ValueBytes: l.ValueBytes, RowBytes: l.RowBytes, OutputBytes: l.OutputBytes, MessageBytes: l.MessageBytes,
		Messages: l.Messages, ResultSets: l.ResultSets, AnswerBytes: l.AnswerBytes,
	}
}
