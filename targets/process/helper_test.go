//go:build linux

package process

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// play is the main function of the test binary as a process. Every text that a test waits for is
// one line.
func play(part string, args []string) int {
	say := func(text string) { fmt.Println(text) }
	switch part {
	case "environment":
		for _, one := range os.Environ() {
			say(one)
		}
	case "input":
		all, err := io.ReadAll(os.Stdin)
		fmt.Printf("%s %v\n", all, err)
	case "directory":
		dir, err := os.Getwd()
		info, statErr := os.Stat(os.Getenv("JOBAGENT_DIRECTORY"))
		say(dir)
		say(fmt.Sprint(info.Mode(), err, statErr, os.Getuid()))
		payload, err := os.ReadFile(os.Getenv("JOBAGENT_PAYLOAD_FILE"))
		say(fmt.Sprintf("%s %v", payload, err))
	case "args":
		say(strings.Join(args, "|"))
	case "exit":
		fmt.Fprintln(os.Stderr, "about to exit")
		return number(args[0])
	case "protected":
		return playAgent(args[0] == "yes")
	case "spy":
		agent := fmt.Sprintf("/proc/%d/", os.Getppid())
		environ, err := os.ReadFile(agent + "environ")
		say(fmt.Sprint("environ: ", err == nil && strings.Contains(string(environ), "SECRET=s")))
		memory, err := os.Open(agent + "mem")
		say(fmt.Sprint("mem: ", err == nil))
		memory.Close()
		_, err = os.Stat("/proc/self/fd/3")
		inherited, _ := os.Readlink("/proc/self/fd/3")
		say(fmt.Sprint("inherited: ", err == nil && strings.HasSuffix(inherited, "/key")))
		var core syscall.Rlimit
		if err := syscall.Getrlimit(4, &core); err == nil && core.Max == 0 && args[0] == "yes" { // RLIMIT_CORE
			say("core: 0")
		} else {
			say("core: same")
		}
	case "fenced":
		return playFencedAgent(args[0], args[1] == "agent_files")
	case "burglar":
		burgle(args[0])
	case "both":
		out, errs := bufio.NewWriterSize(os.Stdout, 1), bufio.NewWriterSize(os.Stderr, 1)
		for i := range 3 {
			fmt.Fprintf(out, "out %d\n", i)
			out.Flush()
			time.Sleep(lineTime)
			fmt.Fprintf(errs, "err %d\n", i)
			errs.Flush()
			time.Sleep(lineTime)
		}
	case "flood":
		line := strings.Repeat("x", 99) + "\n"
		for range number(args[0]) / len(line) {
			os.Stdout.WriteString(line)
		}
	case "wait":
		say("ready")
		forever()
	case "ignore":
		signal.Ignore(syscall.SIGTERM)
		say("ready")
		forever()
	case "obey": // ends by itself when it is asked to
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		say("ready")
		<-asked
		say("cleaned up")
	case "fork": // leaves children with the given kind and exits, or waits with "stay"
		for _, kind := range args {
			if kind == "stay" {
				say("ready")
				forever()
			}
			startChild(kind)
		}
	case "allocate":
		block := make([]byte, number(args[0]))
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		say("ready")
		forever()
		say(string(block[:1]))
	case "agent": // an agent that runs one attempt: work directory, entry's arguments and key are given
		r, err := NewRunner(Config{WorkDir: args[0], Entries: []Entry{{
			Name: "helper", Path: os.Args[0], Args: []string{helperArg}, ArgsPattern: ".*",
		}}})
		if err != nil {
			say(err.Error())
			return 1
		}
		if args[1] == "no cgroup" {
			withoutCgroup(r)
		}
		r.watch = func(output []byte) { os.Stdout.Write(output) }
		a := newAttempt("fork", "setsid", "stay")
		a.Key = uuid.MustParse(args[2])
		r.Run(context.Background(), a)
	case "gain":
		status, err := os.ReadFile("/proc/self/status")
		say(fmt.Sprintf("%s %v", status, err))
	}
	return 0
}

// lineTime lets the reader of one stream see a line before the other stream has the next one, also
// on a busy machine. The process is real, so there is no virtual time.
const lineTime = 200 * time.Millisecond

// startChild starts a child of the process. It returns when the child runs.
func startChild(kind string) {
	child := exec.Command(os.Args[0], helperArg, "wait")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: strings.Contains(kind, "setsid")}
	if strings.Contains(kind, "bare") { // hides the marker
		child.Env = []string{"PATH=/bin"}
	}
	if strings.Contains(kind, "pipe") { // holds the output
		child.Stderr = os.Stderr
	}
	ready, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	bufio.NewReader(ready).ReadString('\n')
	fmt.Println("child", child.Process.Pid)
}

// forever waits for a signal.
func forever() { time.Sleep(time.Hour) }

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// playAgent plays an agent that starts a process of its own user, the spy.
func playAgent(protect bool) int {
	word := "no"
	if protect {
		word = "yes"
		if missing, err := Protect(); err != nil || missing != "" {
			fmt.Println(missing, err)
			return 1
		}
	}
	spy := exec.Command(os.Args[0], helperArg, "spy", word)
	spy.Env, spy.Stdout, spy.Stderr = []string{}, os.Stdout, os.Stderr
	if err := spy.Run(); err != nil {
		fmt.Println(err)
		return 1
	}
	key := uuid.New()
	child := exec.Command("/bin/sleep", "60")
	child.Env = []string{markerVariable + "=" + key.String()}
	if err := child.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	found, err := killMarked(key.String(), 0, 2*time.Second)
	_ = child.Wait() // it was killed
	fmt.Println("finds its child:", found == 1 && err == nil)
	fmt.Println("reads its cgroup:", readFile("/proc/self", "cgroup") != "" && readFile("/proc/self", "mountinfo") != "")
	files, err := os.ReadDir("/proc/self/fd")
	fmt.Println("opens its files:", err == nil && len(files) > 0)
	content, err := io.ReadAll(io.NewSectionReader(os.NewFile(3, "key"), 0, 100))
	fmt.Println("reads the inherited file:", string(content))
	if err != nil {
		return 1
	}
	return 0
}
