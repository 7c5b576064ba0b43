package imports

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/jobs/importer"
	"github.com/jobagent/jobagent/jobs/textfile"
)

// maxScript is the size of a file of T-SQL that becomes a step, in bytes.
const maxScript = 16 << 20

// outsideFlags are the flags of imports of commands that ran on another machine.
type outsideFlags struct {
	importFlags
	zone, server, scripts string
}

func (f *outsideFlags) add(cmd *cobra.Command, clock string) {
	f.importFlags.add(cmd, "the database that sqlcmd names")
	f.addKeep(cmd)
	cmd.Flags().StringVar(&f.zone, "zone", "", "time zone of "+clock+" (default UTC, with a note)")
	cmd.Flags().StringVar(&f.server, "server", "", "agents' name of the SQL Server that sqlcmd calls localhost")
	cmd.Flags().StringVar(&f.scripts, "scripts", "", "`folder` with the files of T-SQL that sqlcmd -i reads")
}

// addZone adds the flags of an import without calls of sqlcmd.
func (f *outsideFlags) addZone(cmd *cobra.Command, clock string) {
	f.importFlags.add(cmd, "none; the steps are actions")
	cmd.Flags().StringVar(&f.zone, "zone", "", "time zone of "+clock+" (default UTC)")
}

// options returns the settings of the import.
func (f *outsideFlags) options() (importer.Options, error) {
	o := importer.Options{Now: time.Now().UTC(), TargetGroup: f.group, Server: f.server, KeepCommands: f.keepCommands}
	if f.zone != "" {
		var err error
		if o.Zone, err = importer.Zone(f.zone); err != nil {
			return o, exit.Usagef("--zone: %w", err)
		}
	}
	if f.scripts != "" {
		root, err := os.OpenRoot(f.scripts)
		if err != nil {
			return o, exit.Usagef("--scripts: %w", err)
		}
		if err := root.Close(); err != nil {
			return o, fmt.Errorf("close %s: %w", f.scripts, err)
		}
		o.Script = func(name string) (string, bool, error) { return readScript(f.scripts, name) }
	}
	return o, nil
}

// convert reads a file, converts it and prints the import.
func (f *outsideFlags) convert(a *connect.App, file string, read func([]byte, importer.Options) (*importer.Result, error)) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	text, err := command.ReadFile(file, a.Stdin)
	if err != nil {
		return err
	}
	r, err := read(text, o)
	if err != nil {
		return exit.Usagef("%s: %w", file, err)
	}
	return printImport(&a.Printer, r, f.importFlags)
}

// readScript reads a file of T-SQL below a folder, under its path there or its last name. No path
// leads out of the folder.
func readScript(folder, name string) (text string, found bool, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", false, err
	}
	defer root.Close() // it was only read
	clean := path.Clean("/" + strings.ReplaceAll(name, `\`, "/"))
	for _, try := range []string{clean[1:], path.Base(clean)} {
		if try == "" || try == "/" {
			continue
		}
		info, err := root.Stat(try)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", false, err
		case !info.Mode().IsRegular():
			return "", false, errors.New("it is not a file")
		case info.Size() > maxScript:
			return "", false, fmt.Errorf("it is larger than %d MB", maxScript>>20)
		}
		data, err := root.ReadFile(try)
		if err != nil {
			return "", false, err
		}
		decoded, err := textfile.Decode(data)
		return string(decoded), err == nil, err
	}
	return "", false, nil
}

func newCrontabCommand(a *connect.App) *cobra.Command {
	var f outsideFlags
	var system bool
	cmd := &cobra.Command{
		Use: "crontab FILE|-", Short: "Import the lines of a crontab",
		Long: `Import a crontab: that of a user (crontab -l), /etc/crontab or a file of /etc/cron.d. Lines with the
same command become one job with a schedule for each, of the kind cron5. CRON_TZ, RANDOM_DELAY and ~
are kept, and each line is converted or reported with its number.

A call of sqlcmd becomes a T-SQL step for its server and database if each of its options is understood;
passwords are not read. Any other command becomes a step that you write.

` + stepsToWrite,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.convert(a, args[0], func(text []byte, o importer.Options) (*importer.Result, error) {
				if o.Crontab = crontabForm(args[0]); cmd.Flags().Changed("system") {
					o.Crontab = importer.CrontabUser
					if system {
						o.Crontab = importer.CrontabSystem
					}
				}
				return importer.Crontab(text, o)
			})
		},
	}
	f.add(cmd, "the crontab's machine")
	cmd.Flags().BoolVar(&system, "system", false, "lines have a user before the command, as in /etc/crontab (default: by the file, if certain)")
	return cmd
}

func newKubernetesCommand(a *connect.App) *cobra.Command {
	var f outsideFlags
	cmd := &cobra.Command{
		Use: "kubernetes FILE|-", Short: "Import CronJobs of Kubernetes from YAML or JSON",
		Long: `Import CronJobs of Kubernetes: documents or lists, as kubectl get cronjobs -o yaml prints them. Each
becomes a job with a schedule that has the instants of Kubernetes, and a step for each container.

A container that calls sqlcmd becomes a T-SQL step for its server and database if each of its options is
understood; values of variables and passwords are not shown. Any other container becomes a step that you
write.

` + stepsToWrite,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return f.convert(a, args[0], importer.Kubernetes)
		},
	}
	f.add(cmd, "the controller, for CronJobs without a timeZone")
	return cmd
}

// crontabForm returns the form of a crontab by the place of its file.
func crontabForm(file string) importer.CrontabForm {
	file = filepath.ToSlash(file)
	switch {
	case file == "/etc/crontab", path.Dir(file) == "/etc/cron.d":
		return importer.CrontabSystem
	case strings.HasPrefix(file, "/var/spool/cron/"), strings.HasPrefix(file, "/var/cron/tabs/"):
		return importer.CrontabUser
	}
	return importer.CrontabAny
}
