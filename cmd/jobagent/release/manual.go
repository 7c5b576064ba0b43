package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
)

// writeManual writes a manual page for each command to a new folder.
func writeManual(folder string, date time.Time) error {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	root := cli.Commands()
	root.DisableAutoGenTag = true
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "jobagent", Manual: "jobagent", Date: &date}, folder)
}

// writeCompletions writes scripts that complete commands and names in four shells to a new folder.
func writeCompletions(folder string) error {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	for shell, write := range map[string]func(root *cobra.Command, path string) error{
		"bash":       func(root *cobra.Command, path string) error { return root.GenBashCompletionFileV2(path, true) },
		"zsh":        func(root *cobra.Command, path string) error { return root.GenZshCompletionFile(path) },
		"fish":       func(root *cobra.Command, path string) error { return root.GenFishCompletionFile(path, true) },
		"powershell": func(root *cobra.Command, path string) error { return root.GenPowerShellCompletionFileWithDesc(path) },
	} {
		if err := write(cli.Commands(), filepath.Join(folder, "jobagent."+shell)); err != nil {
			return fmt.Errorf("%s: %w", shell, err)
		}
	}
	return nil
}
