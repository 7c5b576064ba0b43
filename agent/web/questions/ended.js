// Shows the answers of a question as soon as it has ended: they are not part of the live updates.
document.addEventListener("live:fragment", () => {
  if (document.querySelector("#question-progress[data-ended]")) location.reload();
});
