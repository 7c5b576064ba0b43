package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/targets/mssql"
)

// Limits bounds the data that a target may send. [mssql.AnswerLimits] has the defaults.
type Limits struct {
	ValueBytes   ByteSize `json:"value_bytes"`   // of one value for an output table
	RowBytes     ByteSize `json:"row_bytes"`     // of one row for an output table
	OutputBytes  ByteSize `json:"output_bytes"`  // of all rows for an output table, per attempt
	MessageBytes ByteSize `json:"message_bytes"` // of the text of one message
	Messages     int64    `json:"messages"`      // per attempt
	ResultSets   int64    `json:"result_sets"`   // per attempt
	AnswerBytes  ByteSize `json:"answer_bytes"`  // of the whole answer, per attempt
	BufferBytes  ByteSize `json:"buffer_bytes"`  // of buffered rows for output tables, in all attempts together
}

// Limits converts the limits for package mssql.
func (l Limits) Limits() mssql.AnswerLimits {
	return mssql.AnswerLimits{
		ValueBytes: int64(l.ValueBytes), RowBytes: int64(l.RowBytes), OutputBytes: int64(l.OutputBytes),
		MessageBytes: int64(l.MessageBytes),
		Messages:     l.Messages, ResultSets: l.ResultSets, AnswerBytes: int64(l.AnswerBytes), BufferBytes: int64(l.BufferBytes),
	}
}

// Memory of an agent without rows of targets, in bytes.
const (
	agentBytes  = 16 << 20
	workerBytes = 256 << 10 // two connections, their buffers and goroutines
)

// BoundHeap sets the garbage collector's memory limit, so that the garbage of large rows does not
// double the agent's memory. The limit is soft: memory in use may exceed it. The environment
// variable GOMEMLIMIT takes precedence.
func (l Limits) BoundHeap(workers int) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(agentBytes + int64(cmp.Or(workers, 100))*workerBytes + l.Limits().Memory())
	}
}

// ByteSize is a number of bytes. In JSON it is a number or a string such as "64KB", "16MB" or
// "1GB".
type ByteSize int64

// UnmarshalJSON implements json.Unmarshaler.
func (s *ByteSize) UnmarshalJSON(b []byte) error {
	text := string(b)
	if len(b) > 0 && b[0] == '"' {
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
	}
	wrong := fmt.Errorf("invalid size %q: want a number of bytes, or a text such as \"16MB\" (KB, MB, GB)", text)
	digits, unit := text, int64(1)
	for i, suffix := range []string{"KB", "MB", "GB"} {
		if rest, ok := strings.CutSuffix(strings.ToUpper(text), suffix); ok {
			digits, unit = strings.TrimSpace(rest), 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n > (1<<62)/unit {
		return wrong
	}
	*s = ByteSize(n * unit)
	return nil
}
