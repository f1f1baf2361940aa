// The page is asked for again and again, and its parts take the place of those that are shown.
setInterval(async () => {
  if (document.hidden) return;
  try {
    const answer = await fetch("/", { cache: "no-store", signal: AbortSignal.timeout(1900) });
    if (!answer.ok) throw answer.status;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.querySelector("main").replaceWith(page.querySelector("main"));
    document.body.classList.remove("stale");
  } catch {
    document.body.classList.add("stale");
  }
}, 2000);
