// What every page has: the progress of work in the background.
import { api, finished } from "./api.js";
import { $, failed, visible } from "./dom.js";

let shown = null;

export async function watch(job) {
  shown = job.id;
  const told = (now) => {
    $("work").hidden = false;
    $("work-what").textContent = visible(now.what);
    const bar = $("work-progress");
    if (now.total) { bar.max = now.total; bar.value = now.done; } else bar.removeAttribute("value");
    bar.setAttribute("aria-label", visible(now.what));
    $("work-count").textContent = now.total ? `${now.done.toLocaleString("en")} of ${now.total.toLocaleString("en")}` : "";
  };
  try {
    const ended = await finished(job, told);
    document.dispatchEvent(new CustomEvent("exaudit:job", { detail: ended }));
    return ended;
  } finally {
    if (shown === job.id) $("work").hidden = true;
  }
}

$("work-cancel").addEventListener("click", () => api(`/api/jobs/${shown}/cancel`, { method: "POST" }).catch(failed));
export const seeVersion = (version) => { document.body.dataset.version = version; };
export const version = () => Number(document.body.dataset.version);

// A file that is being opened, or looked up again after an edit.
export async function follow() {
  const { opening } = await api("/api/file");
  if (opening && ["waiting", "running"].includes(opening.status)) await watch(opening).catch(failed);
}
follow().catch(failed);
