package mssql

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// Panics passes a panic of several goroutines on to the goroutine that waits for them. A panic that
// no function of its own goroutine recovers ends the process, with all that it runs. The zero value
// is ready; its methods may be called concurrently.
type Panics struct {
	once  sync.Once
	first string
}

// Keep calls fn and keeps the first panic, with its stack.
func (p *Panics) Keep(fn func()) {
	defer func() {
		if v := recover(); v != nil {
			p.once.Do(func() { p.first = fmt.Sprintf("%v\n%s", v, debug.Stack()) })
		}
	}()
	fn()
}

// Pass panics with the text of the first panic, if there was one. All calls of Keep must have
// ended.
func (p *Panics) Pass() {
	if p.first != "" {
		panic(p.first)
	}
}
