package step

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/drift"
)

// actionFlags are the flags that define an action.
type actionFlags struct {
	chosen                                                   map[string]*string // the flags that choose an action
	file, kind                                               string
	headers, auth                                            []string
	body, bodyFile, payload, success, sasToken, keyName, key string
	callback, allowHTTP                                      bool
	selection                                                drift.Selection
}

// add declares the flags.
func (f *actionFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.chosen = map[string]*string{}
	for _, i := range action.Actions() {
		f.chosen[i.Flag] = flags.String(i.Flag, "", i.Usage)
	}
	flags.StringVar(&f.file, "command-file", "", "file that holds the JSON definition of an action; - for standard input")
	flags.StringVar(&f.kind, "command-type", "", "type of the command in --command or --command-file: TSql, "+action.NamesOfActions()+" (default of --command-file: by its members)")
	flags.StringArrayVar(&f.headers, "header", nil, "`NAME: VALUE` of a header; may be repeated")
	flags.StringVar(&f.body, "body", "", "body of the request, text of the message, or standard input of the process")
	flags.StringVar(&f.bodyFile, "body-file", "", "file that holds it; - for standard input")
	flags.StringVar(&f.payload, "payload", "", "send the run's parameters in the query or the body")
	flags.StringVar(&f.success, "success", "", "webhook, azure, sap, or statuses such as 200-299,404")
	flags.StringArrayVar(&f.auth, "auth", nil, "`KIND,MEMBER=VALUE,…` such as basic,username=u,password=$(secret.p)")
	flags.StringVar(&f.sasToken, "sas-token", "", "$(secret.NAME) of a shared access signature for --storage-queue")
	flags.StringVar(&f.keyName, "key-name", "", "name of the shared access key for Service Bus")
	flags.StringVar(&f.key, "key", "", "$(secret.NAME) of the shared access key for Service Bus")
	flags.BoolVar(&f.callback, "callback", false, "a report to $(callback_url) ends the action")
	flags.BoolVar(&f.allowHTTP, "allow-http", false, "allow plain http")
	command.AddSelection(flags, &f.selection)
}

// partFlags are the flags for a member that only some actions have.
var partFlags = map[string]string{
	"header": "headers", "payload": "payload", "success": "success", "auth": "auth", "sas-token": "sas_token", "key-name": "key_name", "key": "key",
	"allow-http": "allow_http", "callback": "callback", "body": "", "body-file": "",
	"include": "include", "ignore": "ignore", "exclude": "exclude",
}

// choicesWith returns the flags that choose an action that has a member; empty: any action.
func choicesWith(member string) (list []string) {
	for _, i := range action.Actions() {
		if member == "" || i.Has(member) {
			list = append(list, i.Flag)
		}
	}
	return list
}

// definition returns the type and the text of the action that the flags define. The type is empty
// if they define none. rest are the arguments after the name of the job.
func (f *actionFlags) definition(cmd *cobra.Command, s *connect.Settings, rest []string) (action.Type, string, error) {
	given := func(flag string) bool { return cmd.Flags().Changed(flag) }
	var chosen []string
	for _, flag := range append(choicesWith(""), "command-file") {
		if given(flag) {
			chosen = append(chosen, flag)
		}
	}
	if len(chosen) > 1 {
		return "", "", exit.Usagef("--%s and --%s cannot be combined", chosen[0], chosen[1])
	}
	choice := ""
	if len(chosen) == 1 {
		choice = chosen[0]
	}
	for flag, member := range partFlags {
		if needs := choicesWith(member); given(flag) && !slices.Contains(needs, choice) {
			return "", "", exit.Usagef("--%s needs --%s", flag, strings.Join(needs, " or --"))
		}
	}
	if choice != "" && (given("command") || given("file")) {
		return "", "", exit.Usagef("--%s cannot be combined with --command and --file", choice)
	}
	if choice != "http" && choice != "process" && len(rest) > 0 {
		return "", "", exit.Usagef("unknown argument %q: want the name of the job alone", rest[0])
	}
	switch choice {
	case "":
		return "", "", nil
	case "command-file":
		return f.readFile(s)
	}
	body, err := f.readBody(s)
	if err != nil {
		return "", "", err
	}
	members := map[string]any{}
	if f.callback {
		members["callback"] = true
	}
	switch choice {
	case "http":
		if len(rest) != 1 {
			return "", "", exit.Usagef("--http needs one URL after the name of the job")
		}
		err = f.httpMembers(members, rest[0], body)
	case "process":
		members["entry"] = *f.chosen[choice]
		set(members, "input", body)
		if len(rest) > 0 {
			members["args"] = rest
		}
	case "drift":
		if body != "" {
			return "", "", exit.Usagef("--body cannot be combined with --drift")
		}
		members["against"] = *f.chosen[choice]
		for name, list := range map[string][]string{"include": f.selection.Include, "ignore": f.selection.Ignore, "exclude": f.selection.Exclude} {
			if len(list) > 0 {
				members[name] = list
			}
		}
	default:
		place := action.OfFlag(choice).Info().Place
		setPlace(members, *f.chosen[choice], place[0], place[1])
		members["message"] = body
		set(members, "sas_token", f.sasToken)
		set(members, "key_name", f.keyName)
		set(members, "key", f.key)
		if f.allowHTTP {
			members["allow_http"] = true
		}
	}
	if err != nil {
		return "", "", err
	}
	text, err := json.Marshal(members)
	if err != nil {
		return "", "", err
	}
	return checked(action.OfFlag(choice), string(text))
}

// set sets a member unless its value is empty.
func set(members map[string]any, name, value string) {
	if value != "" {
		members[name] = value
	}
}

// setPlace sets two members to the parts of PARENT/NAME. PARENT may be a URL.
func setPlace(members map[string]any, place, parent, name string) {
	if strings.Contains(place, "://") {
		end := strings.LastIndexByte(place, '/')
		members[parent], members[name] = place[:end], place[end+1:]
		return
	}
	first, rest, _ := strings.Cut(place, "/")
	members[parent], members[name] = first, rest
}

func (f *actionFlags) httpMembers(members map[string]any, address, body string) error {
	members["method"], members["url"] = *f.chosen["http"], address
	set(members, "payload", f.payload)
	if trimmed := strings.TrimSpace(body); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if json.Valid([]byte(trimmed)) {
			members["body"] = json.RawMessage(trimmed)
		}
	}
	if members["body"] == nil {
		set(members, "body", body)
	}
	if f.allowHTTP {
		members["allow_http"] = true
	}
	var headers []map[string]string
	for _, h := range f.headers {
		name, value, found := strings.Cut(h, ":")
		if !found {
			return exit.Usagef("invalid --header without a colon: want NAME: VALUE")
		}
		headers = append(headers, map[string]string{"name": strings.TrimSpace(name), "value": strings.TrimSpace(value)})
	}
	if headers != nil {
		members["headers"] = headers
	}
	switch {
	case f.success == "":
	case strings.ContainsAny(f.success, "0123456789"):
		members["success"] = map[string]any{"status": strings.Split(f.success, ",")}
	default:
		members["success"] = f.success
	}
	if len(f.auth) == 0 {
		return nil
	}
	auth := map[string]any{}
	for i, part := range strings.Split(strings.Join(f.auth, ","), ",") {
		name, value, found := strings.Cut(part, "=")
		switch {
		case i == 0:
			auth["kind"] = part
		case !found:
			return exit.Usagef("invalid --auth: want KIND,MEMBER=VALUE,…")
		case name == "keys":
			keys, _ := auth[name].([]string)
			auth[name] = append(keys, value)
		default:
			auth[name] = value
		}
	}
	members["auth"] = auth
	return nil
}

// readBody returns the text of --body or --body-file.
func (f *actionFlags) readBody(s *connect.Settings) (string, error) {
	if f.bodyFile == "" {
		return f.body, nil
	}
	if f.body != "" {
		return "", exit.Usagef("--body and --body-file cannot be combined")
	}
	text, err := command.ReadFile(f.bodyFile, s.Stdin)
	return string(text), err
}

// readFile returns the definition of --command-file.
func (f *actionFlags) readFile(s *connect.Settings) (action.Type, string, error) {
	text, err := command.ReadFile(f.file, s.Stdin)
	if err != nil {
		return "", "", err
	}
	if f.kind == "" {
		t, err := action.Infer(string(text))
		if errors.Is(err, action.ErrNoType) {
			err = fmt.Errorf("%w: give --command-type", err)
		}
		if err != nil {
			return "", "", exit.Usagef("%s: %w", f.file, err)
		}
		return checked(t, string(text))
	}
	t, err := action.ParseType(f.kind)
	if err != nil {
		return "", "", exit.Usage(err)
	}
	return checked(t, string(text))
}

// checked returns a definition in its canonical form, or an error with all of its faults.
func checked(t action.Type, text string) (action.Type, string, error) {
	d, err := action.Decode(t, text)
	var faults *action.Faults
	if errors.As(err, &faults) {
		lines := make([]string, len(faults.List))
		for i, f := range faults.List {
			lines[i] = f.String()
		}
		return "", "", exit.Usage(fmt.Errorf("invalid action: %s", strings.Join(lines, "; ")))
	}
	return t, d.Encode(), nil
}
