package values

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/controldb"
)

// Apply makes a command and its subcommands check the values of their arguments and flags before
// anything is sent to a server, and complete arguments. It is called once, on the finished tree.
func Apply(root *cobra.Command, a *connect.App) {
	for _, cmd := range root.Commands() {
		Apply(cmd, a)
	}
	if root.HasSubCommands() {
		root.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args)
			}
			return flagsOf(cmd)
		}
		return
	}
	list := arguments(root.Use)
	check := root.Args
	root.Args = func(cmd *cobra.Command, args []string) error {
		if err := counted(cmd, list, args); err != nil {
			return err
		}
		if check != nil {
			if err := check(cmd, args); err != nil {
				return exit.Usagef("%w; see %s --help", err, cmd.CommandPath())
			}
		}
		for i, value := range args {
			if k, word, ok := kindAt(cmd, list, i); ok {
				if err := k.Check(word, value); err != nil {
					return err
				}
			}
		}
		return flagsOf(cmd)
	}
	if root.ValidArgsFunction == nil {
		root.ValidArgsFunction = func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
			k, _, ok := kindAt(cmd, list, len(args))
			if !ok {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return complete(k, query{app: a, cmd: cmd, given: given(list, args), prefix: prefix})
		}
	}
	resolveRuns(root, &a.Connections, list)
}

// flagsOf checks the flags of a command line, and that the required ones are there.
func flagsOf(cmd *cobra.Command) error {
	var failure error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		k, ok := KindOfFlag(cmd, f)
		if !ok || failure != nil {
			return
		}
		list := []string{f.Value.String()}
		if s, many := f.Value.(pflag.SliceValue); many {
			list = s.GetSlice()
			if len(list) == 0 { // --lifecycle ''
				list = []string{""}
			}
		}
		for _, value := range list {
			if failure == nil {
				failure = k.Check("--"+f.Name, value)
			}
		}
	})
	if failure != nil {
		return failure
	}
	if err := missingFlags(cmd); err != nil {
		return err
	}
	return faultyGroup(cmd)
}

// localFlags returns the flags of a command, without those of the commands above it.
func localFlags(cmd *cobra.Command) (list []*pflag.Flag) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { list = append(list, f) })
	return list
}

// completer is the value of a flag that completes itself.
type completer interface {
	Complete(prefix string) ([]cobra.Completion, cobra.ShellCompDirective)
}

// CompleteFlags makes a command and its subcommands complete the values of their flags. It is
// called where something is completed only: cobra keeps each function until the process ends.
func CompleteFlags(cmd *cobra.Command, a *connect.App) {
	for _, sub := range cmd.Commands() {
		CompleteFlags(sub, a)
	}
	register := func(f *pflag.Flag) {
		if _, registered := cmd.GetFlagCompletionFunc(f.Name); registered {
			return
		}
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(f.Name, func(c *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if own, ok := f.Value.(completer); ok {
				return own.Complete(prefix)
			}
			k, ok := KindOfFlag(cmd, f)
			if !ok {
				k = word
			}
			return complete(k, query{app: a, cmd: c, given: given(arguments(c.Use), args), prefix: prefix})
		}))
	}
	cmd.PersistentFlags().VisitAll(register)
	cmd.Flags().VisitAll(register) // not yet those of the commands above
}

// kindAt returns the kind and the word of the argument at a position.
func kindAt(cmd *cobra.Command, list []argument, i int) (k Kind, word string, ok bool) {
	if i >= len(list) {
		if len(list) == 0 || !list[len(list)-1].many {
			return k, "", false
		}
		i = len(list) - 1
	}
	k, ok = KindOfArgument(cmd, list[i].word)
	return k, list[i].word, ok
}

// given returns arguments by their words.
func given(list []argument, args []string) map[string]string {
	m := map[string]string{}
	for i, value := range args[:min(len(args), len(list))] {
		m[list[i].word] = value
	}
	return m
}

// resolveRuns makes a command accept short execution IDs: it runs with the whole ones.
func resolveRuns(cmd *cobra.Command, c *connect.Connections, list []argument) {
	run := cmd.RunE
	if run == nil || !slices.ContainsFunc(list, func(p argument) bool { return argumentKinds[p.word].run }) {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		whole := slices.Clone(args)
		for i, value := range args {
			if k, _, ok := kindAt(cmd, list, i); !ok || !k.run || !lookup.IsShort(value) {
				continue
			}
			err := c.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				id, err := lookup.Execution(cmd.Context(), store, value)
				whole[i] = id.String()
				return err
			})
			if err != nil {
				return err
			}
		}
		return run(cmd, whole)
	}
}
