package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/manifest"
)

func newDiffCommand(a *connect.App) *cobra.Command {
	var f files
	var prune bool
	cmd := &cobra.Command{
		Use: "diff", Short: "Show what apply would change", Args: cobra.NoArgs,
		Long: `Show what jobagent apply would change: each object that differs, as lines of its definition.
- is the control database, + are the files. The exit code is 0 if nothing differs, 1 if something
does, and 2 or more after an error, as of diff(1).`,
		Example: "  jobagent diff -f jobs\n  jobagent diff -f jobs -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := runDiff(cmd.Context(), a, &f, prune)
			if err != nil && !errors.Is(err, errDiffers) && exit.Code(err) == exit.CodeFailure {
				err = exit.With(exit.CodeUsage, err) // 1 says only that something differs
			}
			return err
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&prune, "prune", false, "also show the objects that apply --prune would delete")
	return cmd
}

// errDiffers ends a diff that has printed differences. It has no text.
var errDiffers = exit.With(exit.CodeFailure, nil)

func runDiff(ctx context.Context, a *connect.App, f *files, prune bool) error {
	set, err := f.load(&a.Settings)
	if err != nil {
		return command.FaultError(&a.Printer, err)
	}
	return a.ReadStore(ctx, func(store *controldb.Store) error {
		only := &set
		if prune {
			only = nil
		}
		state, err := readState(ctx, store, only)
		if err != nil {
			return err
		}
		if err := checkReferences(set, state); err != nil {
			return command.FaultError(&a.Printer, err)
		}
		changes, err := plan(set, state, prune)
		if err != nil {
			return err
		}
		result := output.ComparedFiles{Equal: true, Changes: []output.ObjectChange{}}
		for _, c := range changes {
			if c.action == actionNone {
				continue
			}
			result.Equal = false
			shape := c.shape()
			shape.Diff = diffText(c)
			result.Changes = append(result.Changes, shape)
		}
		if err := a.Emit(result, func(w io.Writer) error { return printDiff(w, a.Painter(), result) }); err != nil {
			return err
		}
		if !result.Equal {
			return errDiffers
		}
		return nil
	})
}

// diffText returns the difference of an object in the unified format.
func diffText(c change) string {
	var have, want string
	from, to := "/dev/null", "/dev/null"
	if c.have != nil {
		have, from = manifest.Text(c.have.Object), "database"
	}
	if c.want.Value != nil {
		want, to = manifest.Text(c.want), c.want.Source.File
	}
	return fmt.Sprintf("--- %s\n+++ %s\n%s", from, to, unified(lines(have), lines(want)))
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// printDiff prints differences, coloured on a terminal.
func printDiff(w io.Writer, p terminal.Painter, r output.ComparedFiles) error {
	var b strings.Builder
	for _, c := range r.Changes {
		fmt.Fprintln(&b, p.In(terminal.StyleTitle, terminal.Clean(fmt.Sprintf("%s %s %s", done[c.Action][1], c.Kind, c.Name))))
		for _, line := range lines(c.Diff) {
			line = terminal.Clean(strings.ReplaceAll(line, "\t", "    "))
			switch { // a file's name may have a line feed, so a line may be empty
			case strings.HasPrefix(line, "+"):
				line = p.In(terminal.StyleGood, line)
			case strings.HasPrefix(line, "-"):
				line = p.In(terminal.StyleBad, line)
			case strings.HasPrefix(line, "@"):
				line = p.In(terminal.StyleHead, line)
			}
			b.WriteString(line + "\n")
		}
		b.WriteByte('\n')
	}
	if r.Equal {
		b.WriteString("no differences\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// unified returns the differences of two texts with three lines of context.
func unified(a, b []string) string {
	const context = 3
	ops := edits(a, b)
	var out strings.Builder
	for i := 0; i < len(ops); {
		if ops[i].sign == ' ' {
			i++
			continue
		}
		from := max(0, i-context)
		to, quiet := i, 0
		for to < len(ops) && quiet <= 2*context {
			if ops[to].sign == ' ' {
				quiet++
			} else {
				quiet = 0
			}
			to++
		}
		to -= max(0, quiet-context)
		var before, after int
		for _, op := range ops[from:to] {
			if op.sign != '+' {
				before++
			}
			if op.sign != '-' {
				after++
			}
		}
		fmt.Fprintf(&out, "@@ -%s +%s @@\n", span(ops[from].a, before), span(ops[from].b, after))
		for _, op := range ops[from:to] {
			fmt.Fprintf(&out, "%c%s\n", op.sign, op.text)
		}
		i = to
	}
	return out.String()
}

func span(start, count int) string {
	if count == 0 {
		start-- // of an empty range, the line before it
	}
	if count == 1 {
		return fmt.Sprint(start + 1)
	}
	return fmt.Sprintf("%d,%d", start+1, count)
}

// edit is a line of one or both texts: ' ', '-' or '+'. a and b are the positions before it.
type edit struct {
	sign byte
	text string
	a, b int
}

// maxCells bounds the table of edits; longer texts are shown as replaced.
const maxCells = 4_000_000

// edits returns a shortest way from a to b: the longest common subsequence stays.
func edits(a, b []string) []edit {
	var ops []edit
	i, j := 0, 0
	keep := func() {
		ops = append(ops, edit{' ', a[i], i, j})
		i, j = i+1, j+1
	}
	remove := func() { ops = append(ops, edit{'-', a[i], i, j}); i++ }
	add := func() { ops = append(ops, edit{'+', b[j], i, j}); j++ }
	for i < len(a) && j < len(b) && a[i] == b[j] {
		keep()
	}
	endA, endB := len(a), len(b)
	for endA > i && endB > j && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	width := endB - j + 1
	if (endA-i+1)*width <= maxCells {
		firstA, firstB := i, j
		common := make([]int32, (endA-i+1)*width) // of the rests of both texts
		at := func(x, y int) *int32 { return &common[(x-firstA)*width+y-firstB] }
		for x := endA - 1; x >= i; x-- {
			for y := endB - 1; y >= j; y-- {
				if a[x] == b[y] {
					*at(x, y) = *at(x+1, y+1) + 1
				} else {
					*at(x, y) = max(*at(x+1, y), *at(x, y+1))
				}
			}
		}
		for i < endA && j < endB {
			switch {
			case a[i] == b[j]:
				keep()
			case *at(i+1, j) >= *at(i, j+1):
				remove()
			default:
				add()
			}
		}
	}
	for i < endA {
		remove()
	}
	for j < endB {
		add()
	}
	for i < len(a) {
		keep()
	}
	return ops
}
