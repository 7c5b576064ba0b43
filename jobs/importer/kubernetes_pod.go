package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The retries of a Job of Kubernetes
// (https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-backoff-failure-policy):
// 6, after 10, 20, 40 … seconds, at most 6 minutes.
const (
	defaultBackoffLimit = 6
	firstBackoff        = 10
	longestBackoff      = 360
)

// noSteps reports an element without which a CronJob has no containers.
func (k *kubernetes) noSteps(job *Job, element string) {
	k.lost(job.Name, element, "the CronJob has no containers, so the job has no steps")
}

// jobTemplate adds the steps of a CronJob: one for each container.
func (k *kubernetes) jobTemplate(job *Job, template *object) {
	if template == nil {
		k.noSteps(job, "spec.jobTemplate")
		return
	}
	template.path = "spec.jobTemplate"
	k.innerMetadata(job, template)
	spec := template.object("spec")
	k.restOf(job.Name, template)
	if spec == nil {
		k.noSteps(job, "spec.jobTemplate.spec")
		return
	}
	like := Step{Attempts: defaultBackoffLimit, Interval: firstBackoff, MaxInterval: longestBackoff, Timeout: maxTimeout}
	if spec.has("backoffLimit") {
		n, ok := spec.integer("backoffLimit")
		if !ok || n < 0 || n > 1000 {
			k.changed(job.Name, spec.at("backoffLimit"), "want a number from 0 to 1000: %d retries are taken", defaultBackoffLimit)
		} else {
			like.Attempts = int(n)
		}
	}
	if n, ok := k.seconds(job, spec, "activeDeadlineSeconds"); ok {
		like.Timeout = n
	}
	for _, name := range []string{"parallelism", "completions"} {
		if n, ok := spec.integer(name); ok && n != 1 {
			k.lost(job.Name, spec.at(name), "it is %d: the steps run once", n)
		}
	}
	if spec.has("ttlSecondsAfterFinished") {
		k.note(job.Name, spec.at("ttlSecondsAfterFinished"), "the history of runs is kept for the time that jobagent's settings say")
		spec.ignore("ttlSecondsAfterFinished")
	}
	pod := spec.object("template")
	k.restOf(job.Name, spec)
	if pod == nil {
		k.noSteps(job, "spec.jobTemplate.spec.template")
		return
	}
	k.innerMetadata(job, pod)
	inner := pod.object("spec")
	k.restOf(job.Name, pod)
	if inner == nil {
		k.noSteps(job, "spec.jobTemplate.spec.template.spec")
		return
	}
	if n, ok := k.seconds(job, inner, "activeDeadlineSeconds"); ok {
		like.Timeout = min(like.Timeout, n)
	}
	k.pod(job, inner, like)
}

// innerMetadata reports the metadata of a template.
func (k *kubernetes) innerMetadata(job *Job, o *object) {
	if meta := o.object("metadata"); meta != nil {
		k.metadata(job, meta)
	}
}

// pod adds a step for each container.
func (k *kubernetes) pod(job *Job, spec *object, like Step) {
	count := 0
	for _, name := range []string{"initContainers", "containers"} {
		list, _ := spec.take(name).([]any)
		for i, item := range list {
			element := fmt.Sprintf("%s[%d]", spec.at(name), i)
			container, ok := asObject(item, element)
			if !ok {
				k.lost(job.Name, element, "it is not a container")
				continue
			}
			if count == maxContainers {
				k.lost(job.Name, element, "there are more than %d containers: this one and those behind it are left out", maxContainers)
				return
			}
			if count++; name == "containers" && i == 1 {
				k.changed(job.Name, spec.at(name), "the containers of a pod run at the same time: the steps run one after the other")
			}
			k.container(job, container, like)
		}
	}
	if count == 0 {
		k.lost(job.Name, spec.at("containers"), "the pod has no containers, so the job has no steps")
	}
	if names := spec.rest(); len(names) > 0 {
		k.note(job.Name, spec.path, "it is for the pod only: %s", shortList(relative(names, spec.path)))
	}
}

// relative returns paths without that of the object.
func relative(paths []string, base string) []string {
	for i, p := range paths {
		paths[i] = strings.TrimPrefix(p, base+".")
	}
	return paths
}

// imageName matches the names of images that the report shows.
var imageName = regexp.MustCompile(`^[A-Za-z0-9_./:@-]{1,200}$`)

// container adds the step of a container.
func (k *kubernetes) container(job *Job, o *object, like Step) {
	name, image := o.text("name"), o.text("image")
	c := outsideCommand{element: o.path, step: name, where: fmt.Sprintf("The container %q of a CronJob of Kubernetes", name)}
	if !kubernetesName.MatchString(name) {
		c.where, c.step = "A container of a CronJob of Kubernetes", ""
	}
	env := k.environment(o)
	c.variable = func(name string) variable { return k.expanded(env.get(name)) }
	command, args := o.take("command"), o.take("args")
	words, certain := k.words(command, c.variable)
	rest, restCertain := k.words(args, c.variable)
	switch {
	case len(words) == 0:
		shown := "an image whose name is not shown"
		if imageName.MatchString(image) {
			shown = "the image " + image
		}
		c.words = []shellWord{{unknown: true, variable: true}} // the program is in the image
		k.note(job.Name, o.path, "%s says what runs", shown)
	case certain && restCertain:
		c.words = slices.Concat(words, rest)
		if script, ok := shellScript(c.words); ok {
			c.line, c.words = script, nil
		}
	default:
		c.words = []shellWord{{unknown: true, variable: true}}
	}
	step := k.commandStep(job, c)
	step.Attempts, step.Interval, step.MaxInterval = like.Attempts, like.Interval, like.MaxInterval
	step.Timeout = min(step.Timeout, like.Timeout)
	job.Steps = append(job.Steps, step)
	if names := env.names(); len(names) > 0 {
		k.note(job.Name, o.at("env"), "variables of the container, of which only servers and databases of sqlcmd are taken: %s", shortList(names))
	}
	o.ignore("image", "name")
	if names := o.rest(); len(names) > 0 {
		k.note(job.Name, o.path, "it is for the container only: %s", shortList(relative(names, o.path)))
	}
}

// kubernetesName matches the names of containers (RFC 1123 labels).
var kubernetesName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// shellScript returns the script of a call such as sh -c SCRIPT.
func shellScript(words []shellWord) (script string, ok bool) {
	if len(words) != 3 || slices.ContainsFunc(words, func(w shellWord) bool { return w.variable }) {
		return "", false
	}
	if !slices.Contains([]string{"sh", "bash", "ash", "dash"}, program(words[0].text)) || !shellOptions.MatchString(words[1].text) {
		return "", false
	}
	return strings.TrimSpace(words[2].text), true
}

// shellOptions matches the options of a shell that end with -c and do not change what a simple
// command does.
var shellOptions = regexp.MustCompile(`^-[eulx]*c$`)

// environment is the environment of a container.
type environment struct {
	variables map[string]variable
	// others means that there are variables whose names are not here (envFrom).
	others bool
}

// environment reads env and envFrom.
func (k *kubernetes) environment(o *object) *environment {
	e := &environment{variables: map[string]variable{}}
	list, _ := o.take("env").([]any)
	for _, item := range list {
		v, ok := asObject(item, "")
		if !ok {
			continue
		}
		name := v.text("name")
		value, plain := textOf(v.take("value"))
		known := !v.has("valueFrom") && (plain || !v.has("value")) && !strings.Contains(value, "$(")
		e.variables[name] = variable{value: value, set: true, known: known}
	}
	e.others = o.take("envFrom") != nil
	return e
}

// get returns a variable. Any variable may be set if there are others.
func (e *environment) get(name string) variable {
	if v, set := e.variables[name]; set {
		return v
	}
	return variable{set: e.others}
}

// names returns the names of the variables.
func (e *environment) names() []string {
	var names []string
	for name := range e.variables {
		if userName.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if e.others {
		names = append(names, "those of envFrom")
	}
	return names
}

// kubernetesVariable matches $(NAME), and $$ which stands for one $
// (https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/).
var kubernetesVariable = regexp.MustCompile(`\$\$|\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)`)

// words returns a list of texts in which variables are replaced. certain is false if it is no
// list of texts.
func (k *kubernetes) words(v any, get func(name string) variable) (words []shellWord, certain bool) {
	if v == nil {
		return nil, true
	}
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	for _, item := range list {
		text, ok := textOf(item)
		if !ok {
			return words, false
		}
		w := shellWord{}
		w.text = kubernetesVariable.ReplaceAllStringFunc(text, func(m string) string {
			if m == "$$" {
				return "$"
			}
			name := m[2 : len(m)-1]
			v := get(name)
			if !v.set {
				return m // Kubernetes leaves it as it is
			}
			w.variable = true
			if !v.known || isSecretVariable(name) {
				w.unknown = true
				return ""
			}
			return v.value
		})
		words = append(words, w)
	}
	return words, true
}
