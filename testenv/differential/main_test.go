package differential

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/teambition/rrule-go"
	"go.uber.org/goleak"
)

var (
	ruleCount = flag.Int("differential.rules", 500, "number of random rules for each engine")
	ruleSeed  = flag.Uint64("differential.seed", 1, "seed of the random rules")
)

// workerVariable makes the test's own binary the worker of a library in Go: a search of rrule-go or
// of robfig/cron that never ends cannot be stopped, but a process can.
const workerVariable = "DIFFERENTIAL_WORKER"

func TestMain(m *testing.M) {
	switch os.Getenv(workerVariable) {
	case "rrule-go":
		serve("v1.8.2", answerRRuleGo)
		return
	case "robfig":
		serve("v3.0.1", answerRobfig)
		return
	}
	flag.Parse()
	goleak.VerifyTestMain(m)
}

// serve answers on standard output what is asked on standard input; see worker.
func serve(version string, answer func(line string) string) {
	safely := func(line string) (text string) {
		defer func() {
			if failure := recover(); failure != nil {
				text = fmt.Sprint("! panic: ", failure)
			}
		}()
		return answer(line)
	}
	fmt.Println("ready " + version)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		fmt.Println(safely(in.Text()))
	}
}

// answerRobfig answers in UTC. The line begins with CRON_TZ and its zone.
func answerRobfig(line string) string {
	text, start, n, err := parseQuestion(line)
	if err != nil {
		return "! " + err.Error()
	}
	options := cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow
	if len(strings.Fields(text)) == 7 {
		options |= cron.Second
	}
	parsed, err := cron.NewParser(options).Parse(text)
	if err != nil {
		return "! " + err.Error()
	}
	var stamps []string
	for at := start.Add(-time.Second); len(stamps) < n; {
		if at = parsed.Next(at); at.IsZero() {
			stamps = append(stamps, "end")
			break
		}
		stamps = append(stamps, at.UTC().Format(stampLayout))
	}
	return strings.Join(stamps, " ")
}

func answerRRuleGo(line string) string {
	text, start, n, err := parseQuestion(line)
	if err != nil {
		return "! " + err.Error()
	}
	option, err := rrule.StrToROption(text)
	if err != nil {
		return "! " + err.Error()
	}
	option.Dtstart = start
	rule, err := rrule.NewRRule(*option)
	if err != nil {
		return "! " + err.Error()
	}
	next := rule.Iterator()
	var stamps []string
	for range n {
		at, ok := next()
		if !ok {
			stamps = append(stamps, "end")
			break
		}
		stamps = append(stamps, at.Format(stampLayout))
	}
	return strings.Join(stamps, " ")
}
