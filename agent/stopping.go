package agent

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap"
)

// underway holds the tasks that workers carry out. It is safe for concurrent use.
type underway struct {
	mu    sync.Mutex
	tasks map[*entry]struct{}
}

// begin adds a task, and returns the function that removes it.
func (u *underway) begin(e *entry) (end func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.tasks == nil {
		u.tasks = map[*entry]struct{}{}
	}
	u.tasks[e] = struct{}{}
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.tasks, e)
	}
}

// places returns the targets of the tasks, in order.
func (u *underway) places() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var list []string
	for e := range u.tasks {
		name := e.task.Target.Server
		if e.task.Target.Database != "" {
			name += "/" + e.task.Target.Database
		}
		if name == "" {
			name = "job " + e.task.JobName
		}
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// maxPlaces bounds the targets in one log entry.
const maxPlaces = 5

// announceStop logs which tasks a stopping agent waits for, and how a person can end the wait.
func (h *taskHost) announceStop() {
	places := h.underway.places()
	if len(places) == 0 {
		return
	}
	scripts, them := "1 script", "it"
	if len(places) > 1 {
		scripts, them = fmt.Sprintf("%d scripts", len(places)), "them"
	}
	text, shown := "", slices.Compact(places)
	if more := len(shown) - maxPlaces; more > 0 {
		shown, text = shown[:maxPlaces], fmt.Sprintf(" and %d more", more)
	}
	h.log.Info(fmt.Sprintf("waiting for %s on %s%s; Ctrl-C again cancels %s", scripts, strings.Join(shown, ", "), text, them),
		zap.Int(keyCount, len(places)), zap.Duration(keyGrace, h.cfg.Grace))
}
