// The page by itself, one file: the browser keeps the decisions, and other windows are notified.
decisions.load();
startPage();
listenToKeys();
window.addEventListener("storage", (event) => {
  if (event.key !== decisions.key) return;
  decisions.load();
  for (const list of lists) list.refresh();
});
