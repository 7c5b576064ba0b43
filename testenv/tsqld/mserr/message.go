package mserr

import (
	_ "embed"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// messageList has SQL Server's messages (documentation: "Database Engine events and errors"), one
// a line: number, severity, state and text. Placeholders are %s, %d and %X, which package fmt and
// RAISERROR have in common.
//
//go:embed messages.txt
var messageList string

// definition is a line of messageList.
type definition struct {
	class, state uint8
	text         string
}

// definitions returns the messages by number.
var definitions = sync.OnceValue(func() map[int32]definition {
	all := map[int32]definition{}
	for line := range strings.Lines(messageList) {
		var number int32
		var d definition
		if _, err := fmt.Sscan(line, &number, &d.class, &d.state); err != nil {
			panic(fmt.Errorf("messages.txt: %q: %w", line, err))
		}
		d.text = strings.TrimSuffix(strings.SplitN(line, " ", 4)[3], "\n")
		all[number] = d
	}
	return all
})

// Of makes the message of messages.txt with a number. The arguments are the values of its
// placeholders. It is for the messages without a constructor.
func Of(number int32, args ...any) *Error {
	d := definitions()[number]
	return New(number, d.class, d.text, args...).WithState(d.state)
}

// of makes the constructor of the message with a number. The parameters of F, a function that
// returns *[Error], are the values of the message's placeholders.
func of[F any](number int32) F {
	constructor := reflect.MakeFunc(reflect.TypeFor[F](), func(in []reflect.Value) []reflect.Value {
		args := make([]any, len(in))
		for i, v := range in {
			args[i] = v.Interface()
		}
		return []reflect.Value{reflect.ValueOf(Of(number, args...))}
	})
	return constructor.Interface().(F)
}

// Definition finds a message of SQL Server by its number, for RAISERROR.
func Definition(number int64) (class uint8, text string, ok bool) {
	d, ok := definitions()[int32(number)]
	return d.class, d.text, ok && number == int64(int32(number))
}
