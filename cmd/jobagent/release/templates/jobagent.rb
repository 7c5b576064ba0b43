# The formula of Homebrew. A tap (https://docs.brew.sh/Taps) has it as Formula/jobagent.rb.
class Jobagent < Formula
  desc "Runs T-SQL across many SQL Server databases, on schedule"
  homepage "https://github.com/jobagent/jobagent"
  version "{{.Version}}"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "{{url "darwin" "arm64"}}"
      sha256 "{{sum "darwin" "arm64"}}"
    end
    on_intel do
      url "{{url "darwin" "amd64"}}"
      sha256 "{{sum "darwin" "amd64"}}"
    end
  end
  on_linux do
    on_arm do
      url "{{url "linux" "arm64"}}"
      sha256 "{{sum "linux" "arm64"}}"
    end
    on_intel do
      url "{{url "linux" "amd64"}}"
      sha256 "{{sum "linux" "amd64"}}"
    end
  end

  def install
    bin.install "jobagent"
    bash_completion.install "completions/jobagent.bash" => "jobagent"
    zsh_completion.install "completions/jobagent.zsh" => "_jobagent"
    fish_completion.install "completions/jobagent.fish"
    man1.install Dir["man/*.1"]
    doc.install "COMMANDS.md", "SETTINGS.md", "deploy"
  end

  test do
    assert_match "jobagent", shell_output("#{bin}/jobagent version")
  end
end
